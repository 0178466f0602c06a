// Estimates: the power of tones, and the coefficients of polynomials.

constexpr int TONES = 8;

struct Resonator {
    float last = 0.0f, before = 0.0f;

    __device__ void push(float sample, float coefficient) {
        float next = sample + coefficient * last - before;
        before = last;
        last = next;
    }

    __device__ float power(float coefficient) const {
        return last * last + before * before - coefficient * last * before;
    }
};

extern "C" __global__ __launch_bounds__(128)
void goertzel(const short* __restrict__ samples, int frames,
              const float* __restrict__ coefficients, float* __restrict__ powers, int channels) {
    int channel = blockIdx.x * blockDim.x + threadIdx.x;
    if (channel >= channels) return;
    Resonator tones[TONES];
    for (int frame = 0; frame < frames; frame++) {
        float sample = samples[frame * channels + channel];
        for (int i = 0; i < TONES; i++) tones[i].push(sample, coefficients[i]);
    }
    for (int i = 0; i < TONES; i++) {
        powers[channel * TONES + i] = tones[i].power(coefficients[i]);
    }
}

template <int M, int N>
struct Equations {
    float rows[M][N];
    float right[M];

    __device__ explicit Equations(const float2* points) {
        for (int i = 0; i < M; i++) {
            float2 point = points[i];
            rows[i][0] = 1.0f;
            for (int j = 1; j < N; j++) rows[i][j] = rows[i][j - 1] * point.x;
            right[i] = point.y;
        }
    }

    __device__ bool solve(float* solution) {
#pragma unroll
        for (int k = 0; k < N; k++) {
#pragma unroll
            for (int i = k + 1; i < M; i++) {
                float a = rows[k][k], b = rows[i][k];
                float length = sqrtf(a * a + b * b);
                if (length == 0.0f) continue;
                float c = a / length, s = b / length;
                for (int j = k; j < N; j++) {
                    float upper = rows[k][j], lower = rows[i][j];
                    rows[k][j] = c * upper + s * lower;
                    rows[i][j] = c * lower - s * upper;
                }
                float upper = right[k], lower = right[i];
                right[k] = c * upper + s * lower;
                right[i] = c * lower - s * upper;
            }
        }
#pragma unroll
        for (int k = N - 1; k >= 0; k--) {
            float pivot = rows[k][k];
            if (fabsf(pivot) < 1e-6f) return false;
            float rest = right[k];
            for (int j = k + 1; j < N; j++) rest -= rows[k][j] * solution[j];
            solution[k] = rest / pivot;
        }
        return true;
    }
};

constexpr int POINTS = 8;
constexpr int COEFFICIENTS = 4;

extern "C" __global__ __launch_bounds__(128)
void least_squares(const float2* __restrict__ points, float* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Equations<POINTS, COEFFICIENTS> equations(points + i * POINTS);
    float solution[COEFFICIENTS];
    bool solved = equations.solve(solution);
    for (int k = 0; k < COEFFICIENTS; k++) {
        to[i * COEFFICIENTS + k] = solved ? solution[k] : 0.0f;
    }
}
