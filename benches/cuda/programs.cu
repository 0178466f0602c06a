// Programs as data: an interpreter of arithmetic expressions, and the edit distance of strings.

enum Operation : unsigned {
    X,
    Y,
    NUMBER,
    ADD,
    SUBTRACT,
    MULTIPLY,
    MINIMUM,
    MAXIMUM,
    NEGATE,
    ABSOLUTE,
    SQUARE_ROOT
};

struct Instruction {
    Operation operation;
    float number;
};

constexpr int STACK = 16;

extern "C" __global__ __launch_bounds__(256)
void interpreter(const Instruction* __restrict__ program, int count, float pixel,
                 float* __restrict__ to, int width, int height) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= width || row >= height) return;
    float x = column * pixel - 1.0f, y = row * pixel - 1.0f;
    float stack[STACK];
    int len = 0;
    for (int i = 0; i < count; i++) {
        switch (program[i].operation) {
        case X: stack[len++] = x; break;
        case Y: stack[len++] = y; break;
        case NUMBER: stack[len++] = program[i].number; break;
        case ADD: len--; stack[len - 1] += stack[len]; break;
        case SUBTRACT: len--; stack[len - 1] -= stack[len]; break;
        case MULTIPLY: len--; stack[len - 1] *= stack[len]; break;
        case MINIMUM: len--; stack[len - 1] = fminf(stack[len - 1], stack[len]); break;
        case MAXIMUM: len--; stack[len - 1] = fmaxf(stack[len - 1], stack[len]); break;
        case NEGATE: stack[len - 1] = -stack[len - 1]; break;
        case ABSOLUTE: stack[len - 1] = fabsf(stack[len - 1]); break;
        case SQUARE_ROOT: stack[len - 1] = sqrtf(stack[len - 1]); break;
        }
    }
    to[row * width + column] = stack[0];
}

constexpr int LETTERS = 32;

extern "C" __global__ __launch_bounds__(128)
void levenshtein(const unsigned char* __restrict__ query, int letters,
                 const unsigned char* __restrict__ text, const unsigned* __restrict__ offsets,
                 unsigned* __restrict__ to, int n) {
    int word = blockIdx.x * blockDim.x + threadIdx.x;
    if (word >= n) return;
    unsigned row[LETTERS + 1];
    for (int i = 0; i <= letters; i++) row[i] = i;
    unsigned start = offsets[word], end = offsets[word + 1];
    for (unsigned at = start; at < end; at++) {
        unsigned char letter = text[at];
        unsigned diagonal = row[0];
        row[0] = at - start + 1;
        for (int i = 0; i < letters; i++) {
            unsigned above = row[i + 1];
            unsigned replaced = diagonal + (letter != query[i]);
            row[i + 1] = min(min(replaced, above + 1), row[i] + 1);
            diagonal = above;
        }
    }
    to[word] = row[letters];
}
