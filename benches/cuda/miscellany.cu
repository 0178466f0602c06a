// Kernels in many styles: see benches/kernels/src/miscellany.rs.

#include <cuda_fp16.h>

__constant__ int cordicAngles[30] = {
    843314857, 497837829, 263043837, 133525159, 67021687, 33543516,
    16775851, 8388437, 4194283, 2097149, 1048576, 524288,
    262144, 131072, 65536, 32768, 16384, 8192,
    4096, 2048, 1024, 512, 256, 128,
    64, 32, 16, 8, 4, 2,
};

extern "C" __global__ __launch_bounds__(256)
void cordic_sincos(int2* __restrict__ to, const int* __restrict__ angles, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int rest = angles[i];
    int x = 652032874, y = 0;
#pragma unroll
    for (int k = 0; k < 30; k++) {
        int dx = y >> k, dy = x >> k;
        if (rest < 0) { x += dx; y -= dy; rest += cordicAngles[k]; }
        else { x -= dx; y += dy; rest -= cordicAngles[k]; }
    }
    to[i] = make_int2(x, y);
}

__device__ const unsigned char soundexDigits[27] = "01230127022455012623017202";

extern "C" __global__ __launch_bounds__(256)
void soundex(uchar4* __restrict__ codes, const unsigned char* __restrict__ text, const unsigned* __restrict__ offsets, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int start = offsets[i], end = offsets[i + 1];
    unsigned char code[4] = {'0', '0', '0', '0'};
    if (start < end) {
        unsigned char first = text[start];
        code[0] = first & 0xdf;
        unsigned char last = soundexDigits[(first | 0x20) - 'a'];
        int len = 1;
        for (int k = start + 1; k < end; k++) {
            unsigned char digit = soundexDigits[(text[k] | 0x20) - 'a'];
            if (digit == '7') continue;
            if (digit != '0' && digit != last) {
                code[len++] = digit;
                if (len == 4) break;
            }
            last = digit;
        }
    }
    codes[i] = make_uchar4(code[0], code[1], code[2], code[3]);
}

__device__ __forceinline__ float scanMax(float x, float* warps) {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int d = 1; d < 32; d *= 2) {
        float other = __shfl_up_sync(~0u, x, d);
        if (lane >= d) x = fmaxf(x, other);
    }
    if (lane == 31) warps[warp] = x;
    __syncthreads();
    for (int w = 0; w < warp; w++) x = fmaxf(x, warps[w]);
    return x;
}

extern "C" __global__ __launch_bounds__(256)
void max_drawdown(float* __restrict__ drawdowns, const float* __restrict__ prices, int days) {
    __shared__ float warps[8];
    __shared__ float last;
    int t = threadIdx.x;
    const float* series = prices + (size_t)blockIdx.x * days;
    float peak = 0, worst = 0;
    for (int base = 0; base < days; base += 256) {
        int i = base + t;
        float price = i < days ? series[i] : 0.0f;
        float highest = fmaxf(scanMax(price, warps), peak);
        if (i < days) worst = fmaxf(worst, 1.0f - price / highest);
        if (t == 255) last = highest;
        __syncthreads();
        peak = last;
    }
    worst = scanMax(worst, warps);
    if (t == 255) drawdowns[blockIdx.x] = worst;
}

extern "C" __global__ __launch_bounds__(256)
void gf2_rank(unsigned* __restrict__ ranks, const unsigned long long* __restrict__ rows, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i / 32 >= n) return;
    int lane = threadIdx.x % 32;
    unsigned long long row = rows[i];
    int rank = 0;
    bool used = false;
    for (int column = 0; column < 64; column++) {
        bool hasBit = row >> column & 1;
        unsigned candidates = __ballot_sync(~0u, hasBit && !used);
        if (candidates) {
            int pivot = __ffs(candidates) - 1;
            unsigned long long pivotRow = __shfl_sync(~0u, row, pivot);
            if (lane == pivot) used = true;
            else if (hasBit) row ^= pivotRow;
            rank++;
        }
    }
    if (lane == 0) ranks[i / 32] = rank;
}

__device__ __forceinline__ bool isDigit(unsigned char c) { return c >= '0' && c <= '9'; }

extern "C" __global__ __launch_bounds__(128)
void natural_order(int* __restrict__ orders, const unsigned char* __restrict__ text, const unsigned* __restrict__ offsets, int n) {
    int pair = blockIdx.x * blockDim.x + threadIdx.x;
    if (pair >= n) return;
    int i = offsets[2 * pair], iEnd = offsets[2 * pair + 1];
    int j = iEnd, jEnd = offsets[2 * pair + 2];
    int order = 0;
    while (i < iEnd && j < jEnd) {
        unsigned char x = text[i], y = text[j];
        if (isDigit(x) && isDigit(y)) {
            while (i < iEnd && text[i] == '0') i++;
            while (j < jEnd && text[j] == '0') j++;
            int first = 0;
            bool moreX, moreY;
            while (true) {
                moreX = i < iEnd && isDigit(text[i]);
                moreY = j < jEnd && isDigit(text[j]);
                if (!moreX || !moreY) break;
                if (first == 0) first = (int)text[i] - (int)text[j];
                i++;
                j++;
            }
            order = moreX == moreY ? (first > 0) - (first < 0) : (int)moreX - (int)moreY;
            if (order != 0) break;
        } else if (x != y) {
            order = x < y ? -1 : 1;
            break;
        } else {
            i++;
            j++;
        }
    }
    if (order == 0) order = (int)(i < iEnd) - (int)(j < jEnd);
    orders[pair] = order;
}

extern "C" __global__ __launch_bounds__(128)
void lcs_bits(unsigned* __restrict__ lengths, const unsigned char* __restrict__ reads, const unsigned char* __restrict__ genome, int bases, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long places[4] = {0, 0, 0, 0};
    for (int bit = 0; bit < 64; bit++) places[reads[64 * i + bit]] |= 1ull << bit;
    unsigned long long row = ~0ull;
    for (int k = 0; k < bases; k++) {
        unsigned long long matches = row & places[genome[k]];
        row = (row + matches) | (row - matches);
    }
    lengths[i] = 64 - __popcll(row);
}

extern "C" __global__ __launch_bounds__(256)
void curl3d(float* __restrict__ curl, const float* __restrict__ u, const float* __restrict__ v, const float* __restrict__ w, int width, int height, int depth) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= width || y >= height || z >= depth) return;
    auto at = [=](int x, int y, int z) { return (z * height + y) * width + x; };
    int x0 = at(max(x - 1, 0), y, z), x1 = at(min(x + 1, width - 1), y, z);
    int y0 = at(x, max(y - 1, 0), z), y1 = at(x, min(y + 1, height - 1), z);
    int z0 = at(x, y, max(z - 1, 0)), z1 = at(x, y, min(z + 1, depth - 1));
    int i = 3 * at(x, y, z);
    curl[i] = 0.5f * (w[y1] - w[y0]) - 0.5f * (v[z1] - v[z0]);
    curl[i + 1] = 0.5f * (u[z1] - u[z0]) - 0.5f * (w[x1] - w[x0]);
    curl[i + 2] = 0.5f * (v[x1] - v[x0]) - 0.5f * (u[y1] - u[y0]);
}

struct Complex64 {
    double re, im;
};
__device__ __forceinline__ Complex64 operator+(Complex64 a, double b) { return {a.re + b, a.im}; }
__device__ __forceinline__ Complex64 operator-(Complex64 a, Complex64 b) { return {a.re - b.re, a.im - b.im}; }
__device__ __forceinline__ Complex64 operator*(Complex64 a, Complex64 b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
__device__ __forceinline__ double norm2(Complex64 a) { return a.re * a.re + a.im * a.im; }
__device__ __forceinline__ Complex64 operator/(Complex64 a, Complex64 b) {
    double scale = 1.0 / norm2(b);
    return {(a.re * b.re + a.im * b.im) * scale, (a.im * b.re - a.re * b.im) * scale};
}

extern "C" __global__ __launch_bounds__(128)
void durand_kerner(double* __restrict__ radii, unsigned* __restrict__ iterations, const double* __restrict__ polynomials, int n) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= n) return;
    double c[5];
    for (int k = 0; k < 5; k++) c[k] = polynomials[5 * index + k];
    Complex64 seed = {0.4, 0.9}, roots[5];
    roots[0] = {1.0, 0.0};
    for (int i = 1; i < 5; i++) roots[i] = roots[i - 1] * seed;
    int count = 60;
    for (int iteration = 1; iteration <= 60; iteration++) {
        double moved = 0;
#pragma unroll
        for (int i = 0; i < 5; i++) {
            Complex64 root = roots[i], value = {1.0, 0.0}, product = {1.0, 0.0};
#pragma unroll
            for (int k = 4; k >= 0; k--) value = value * root + c[k];
#pragma unroll
            for (int k = 0; k < 5; k++)
                if (k != i) product = product * (root - roots[k]);
            Complex64 step = value / product;
            roots[i] = root - step;
            moved = fmax(moved, norm2(step));
        }
        if (moved < 1e-20) {
            count = iteration;
            break;
        }
    }
    double radius = 0;
    for (int i = 0; i < 5; i++) radius = fmax(radius, norm2(roots[i]));
    radii[index] = sqrt(radius);
    iterations[index] = count;
}

extern "C" __global__ __launch_bounds__(256)
void unsharp_u16(unsigned short* __restrict__ to, const unsigned short* __restrict__ from, int width, int height, int amount) {
    __shared__ unsigned short tile[36][36];
    const int binomial[5] = {1, 4, 6, 4, 1};
    int left = blockIdx.x * 32, top = blockIdx.y * 32;
    for (int y = threadIdx.y; y < 36; y += 8)
        for (int x = threadIdx.x; x < 36; x += 32) {
            int column = min(max(left + x - 2, 0), width - 1);
            int row = min(max(top + y - 2, 0), height - 1);
            tile[y][x] = from[row * width + column];
        }
    __syncthreads();
    int tx = threadIdx.x, x = left + tx;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        int ty = threadIdx.y + 8 * k, y = top + ty;
        if (x < width && y < height) {
            int blurred = 0;
#pragma unroll
            for (int j = 0; j < 5; j++) {
                int sum = 0;
#pragma unroll
                for (int i = 0; i < 5; i++) sum += binomial[i] * tile[ty + j][tx + i];
                blurred += binomial[j] * sum;
            }
            int center = tile[ty + 2][tx + 2];
            int difference = center - (blurred >> 8);
            int sharp = center + ((difference * amount) >> 8);
            to[y * width + x] = min(max(sharp, 0), 65535);
        }
    }
}

extern "C" __global__ __launch_bounds__(256)
void totient_sum(unsigned long long* __restrict__ total, const unsigned* __restrict__ primes, int count, unsigned limit) {
    __shared__ unsigned long long warps[8];
    unsigned long long sum = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < limit; i += gridDim.x * blockDim.x) {
        unsigned n = i + 1, rest = n, phi = n;
        for (int k = 0; k < count; k++) {
            unsigned prime = primes[k];
            if (prime * prime > rest) break;
            if (rest % prime == 0) {
                phi -= phi / prime;
                while (rest % prime == 0) rest /= prime;
            }
        }
        if (rest > 1) phi -= phi / rest;
        sum += phi;
    }
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned long long all = 0;
        for (int w = 0; w < 8; w++) all += warps[w];
        atomicAdd(total, all);
    }
}

extern "C" __global__ __launch_bounds__(256)
void knapsack(unsigned* __restrict__ best, const uint2* __restrict__ things, int count) {
    __shared__ unsigned values[2][2048];
    int current = 0;
    for (int c = threadIdx.x; c < 2048; c += 256) values[0][c] = 0;
    __syncthreads();
    for (int k = 0; k < count; k++) {
        uint2 thing = things[blockIdx.x * count + k];
        int weight = thing.x;
        for (int c = threadIdx.x; c < 2048; c += 256) {
            unsigned value = values[current][c];
            if (c >= weight) value = max(value, values[current][c - weight] + thing.y);
            values[current ^ 1][c] = value;
        }
        __syncthreads();
        current ^= 1;
    }
    if (threadIdx.x == 0) best[blockIdx.x] = values[current][2047];
}

extern "C" __global__ __launch_bounds__(128)
void turtle_bounds(int4* __restrict__ boxes, const unsigned char* __restrict__ programs, const unsigned* __restrict__ offsets, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int x = 0, y = 0, direction = 0, stride = 1;
    int4 stack[8];
    int depth = 0;
    int x0 = 0, y0 = 0, x1 = 0, y1 = 0;
    int end = offsets[i + 1];
    for (int k = offsets[i]; k < end; k++) {
        unsigned char c = programs[k];
        switch (c) {
        case 'F': {
            int dx = 0, dy = 0;
            switch (direction & 7) {
            case 0: dx = 1; break;
            case 1: dx = 1; dy = 1; break;
            case 2: dy = 1; break;
            case 3: dx = -1; dy = 1; break;
            case 4: dx = -1; break;
            case 5: dx = -1; dy = -1; break;
            case 6: dy = -1; break;
            default: dx = 1; dy = -1;
            }
            x += dx * stride;
            y += dy * stride;
            x0 = min(x0, x);
            y0 = min(y0, y);
            x1 = max(x1, x);
            y1 = max(y1, y);
            break;
        }
        case '+': direction++; break;
        case '-': direction--; break;
        case '|': direction += 4; break;
        case '[':
            if (depth < 8) stack[depth++] = make_int4(x, y, direction, stride);
            break;
        case ']':
            if (depth > 0) {
                int4 t = stack[--depth];
                x = t.x;
                y = t.y;
                direction = t.z;
                stride = t.w;
            }
            break;
        default:
            if (c >= '1' && c <= '9') stride = c - '0';
        }
    }
    boxes[i] = make_int4(x0, y0, x1, y1);
}

struct Voice {
    unsigned increment, start;
    float gain;
    unsigned waveform;
};

extern "C" __global__ __launch_bounds__(256)
void synth_dyn(float* __restrict__ samples, const Voice* __restrict__ voices, int count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int v = 0; v < count; v++) {
        Voice voice = voices[v];
        unsigned p = voice.increment * i + voice.start;
        float phase = (p >> 8) * (1.0f / 16777216.0f);
        float value;
        switch (voice.waveform) {
        case 0: {
            float x = 2 * phase - 1;
            value = 4 * x * (fabsf(x) - 1);
            break;
        }
        case 1: value = phase < 0.3f ? 1.0f : -1.0f; break;
        case 2: value = 2 * phase - 1; break;
        default: {
            float c = cosf(6.28318530717958647692f * phase);
            float last = 1, now = c, amplitude = 0.5f;
            value = 0;
#pragma unroll
            for (int k = 0; k < 4; k++) {
                value += amplitude * now;
                float next = 2 * c * now - last;
                last = now;
                now = next;
                amplitude *= 0.5f;
            }
        }
        }
        sum += voice.gain * value;
    }
    samples[i] = sum;
}

template <int R, int C> struct Matrix {
    float m[R][C];
};
template <int R, int C, int D>
__device__ __forceinline__ Matrix<R, D> operator*(const Matrix<R, C>& a, const Matrix<C, D>& b) {
    Matrix<R, D> c;
#pragma unroll
    for (int i = 0; i < R; i++)
#pragma unroll
        for (int j = 0; j < D; j++) {
            float sum = 0;
#pragma unroll
            for (int k = 0; k < C; k++) sum += a.m[i][k] * b.m[k][j];
            c.m[i][j] = sum;
        }
    return c;
}

extern "C" __global__ __launch_bounds__(128)
void mat_exp4(Matrix<4, 4>* __restrict__ to, const Matrix<4, 4>* __restrict__ from, int n) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= n) return;
    Matrix<4, 4> small = from[index], sum;
    int squarings = 0;
    while (true) {
        float norm = 0;
        for (int i = 0; i < 4; i++) {
            float row = 0;
            for (int j = 0; j < 4; j++) row += fabsf(small.m[i][j]);
            norm = fmaxf(norm, row);
        }
        if (norm <= 0.5f) break;
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++) small.m[i][j] *= 0.5f;
        squarings++;
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) sum.m[i][j] = i == j ? 1.0f : 0.0f;
#pragma unroll
    for (int k = 8; k > 0; k--) {
        sum = small * sum;
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++) sum.m[i][j] = sum.m[i][j] * (1.0f / k) + (i == j ? 1.0f : 0.0f);
    }
    for (int k = 0; k < squarings; k++) sum = sum * sum;
    to[index] = sum;
}

extern "C" __global__ __launch_bounds__(128)
void inversions(unsigned* __restrict__ counts, const short* __restrict__ rankings, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const short* ranking = rankings + i * 96;
    int count = 0;
    for (int k = 0; k < 96; k++) {
        short rank = ranking[k];
        for (int l = k + 1; l < 96; l++) count += ranking[l] < rank;
    }
    counts[i] = count;
}

__device__ __forceinline__ unsigned csvNext(unsigned state, unsigned char byte) {
    if (state == 2) return byte == '"' ? 3 : 2;
    if (byte == ',' || byte == '\n') return 0;
    return byte == '"' && state != 1 ? 2 : 1;
}
__device__ __forceinline__ unsigned csvCompose(unsigned a, unsigned b) {
    unsigned c = 0;
#pragma unroll
    for (int s = 0; s < 4; s++) c |= (b >> 2 * (a >> 2 * s & 3) & 3) << 2 * s;
    return c;
}

extern "C" __global__ __launch_bounds__(256)
void dfa_scan(unsigned* __restrict__ fields, const unsigned char* __restrict__ text, int len) {
    __shared__ unsigned warps[8];
    const unsigned identity = 0xe4;
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const unsigned char* document = text + (size_t)blockIdx.x * len;
    unsigned state = 0;
    int ends = 0;
    for (int tile = 0; tile < len; tile += 256 * 16) {
        int start = min(tile + 16 * t, len), end = min(start + 16, len);
        unsigned all = identity;
        for (int k = start; k < end; k++) {
            unsigned step = 0;
#pragma unroll
            for (int s = 0; s < 4; s++) step |= csvNext(s, document[k]) << 2 * s;
            all = csvCompose(all, step);
        }
        unsigned scan = all;
        for (int d = 1; d < 32; d *= 2) {
            unsigned other = __shfl_up_sync(~0u, scan, d);
            if (lane >= d) scan = csvCompose(other, scan);
        }
        if (lane == 31) warps[warp] = scan;
        unsigned before = __shfl_up_sync(~0u, scan, 1);
        if (lane == 0) before = identity;
        __syncthreads();
        unsigned own = state;
        for (int w = 0; w < 8; w++) {
            if (w == warp) own = state;
            state = warps[w] >> 2 * state & 3;
        }
        own = before >> 2 * own & 3;
        for (int k = start; k < end; k++) {
            unsigned char byte = document[k];
            if (own != 2 && (byte == ',' || byte == '\n')) ends++;
            own = csvNext(own, byte);
        }
        __syncthreads();
    }
    ends = __reduce_add_sync(~0u, ends);
    if (lane == 0) warps[warp] = ends;
    __syncthreads();
    if (t == 0) {
        int sum = 0;
        for (int w = 0; w < 8; w++) sum += warps[w];
        fields[blockIdx.x] = sum;
    }
}

extern "C" __global__ __launch_bounds__(256)
void otsu_tiles(unsigned char* __restrict__ thresholds, const unsigned char* __restrict__ image, int width) {
    __shared__ int bins[256];
    __shared__ int2 warps[8];
    __shared__ float bestVariance[8];
    __shared__ int bestLevel[8];
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    int tileX = blockIdx.x % (width / 64), tileY = blockIdx.x / (width / 64);
    bins[t] = 0;
    __syncthreads();
    for (int k = 0; k < 16; k++)
        atomicAdd(&bins[image[(64 * tileY + t / 64 + 4 * k) * width + 64 * tileX + t % 64]], 1);
    __syncthreads();
    int count = bins[t], sum = count * t;
    for (int d = 1; d < 32; d *= 2) {
        int otherCount = __shfl_up_sync(~0u, count, d);
        int otherSum = __shfl_up_sync(~0u, sum, d);
        if (lane >= d) {
            count += otherCount;
            sum += otherSum;
        }
    }
    if (lane == 31) warps[warp] = make_int2(count, sum);
    __syncthreads();
    int total = 0;
    for (int w = 0; w < 8; w++) {
        int2 p = warps[w];
        if (w < warp) {
            count += p.x;
            sum += p.y;
        }
        total += p.y;
    }
    float dark = count, bright = 4096.0f - dark, variance = 0;
    if (dark > 0 && bright > 0) {
        float difference = sum / dark - ((float)total - sum) / bright;
        variance = dark * bright * difference * difference;
    }
    int level = t;
    for (int d = 16; d > 0; d /= 2) {
        float other = __shfl_down_sync(~0u, variance, d);
        int otherLevel = __shfl_down_sync(~0u, level, d);
        if (other > variance) {
            variance = other;
            level = otherLevel;
        }
    }
    if (lane == 0) {
        bestVariance[warp] = variance;
        bestLevel[warp] = level;
    }
    __syncthreads();
    if (t == 0) {
        for (int w = 1; w < 8; w++)
            if (bestVariance[w] > variance) {
                variance = bestVariance[w];
                level = bestLevel[w];
            }
        thresholds[blockIdx.x] = level;
    }
}

extern "C" __global__ __launch_bounds__(256)
void aho_corasick(unsigned* __restrict__ total, const unsigned char* __restrict__ text, int len, const unsigned short* __restrict__ next, const unsigned* __restrict__ found) {
    __shared__ unsigned counts[16];
    if (threadIdx.x < 16) counts[threadIdx.x] = 0;
    __syncthreads();
    for (int start = (blockIdx.x * blockDim.x + threadIdx.x) * 64; start < len; start += gridDim.x * blockDim.x * 64) {
        int end = min(len, start + 64);
        int state = 0;
        for (int k = max(start - 7, 0); k < end; k++) {
            state = next[state * 32 + (text[k] & 31)];
            if (k >= start)
                for (unsigned set = found[state]; set; set &= set - 1) atomicAdd(&counts[__ffs(set) - 1], 1);
        }
    }
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&total[threadIdx.x], counts[threadIdx.x]);
}

typedef unsigned __int128 u128;

extern "C" __global__ __launch_bounds__(256)
void pcg64_jump(unsigned long long* __restrict__ minima, unsigned long long seed, int n) {
    const u128 multiplier = (u128)0x2360ed051fc65da4ull << 64 | 0x4385df649fccf645ull;
    const u128 increment = (u128)0x5851f42d4c957f2dull << 64 | 0x14057b7ef767814full;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u128 factor = 1, summand = 0, a = multiplier, c = increment;
    for (unsigned long long steps = 64ull * i; steps > 0; steps >>= 1) {
        if (steps & 1) {
            factor *= a;
            summand = summand * a + c;
        }
        c = (a + 1) * c;
        a *= a;
    }
    u128 state = (u128)seed * factor + summand;
    unsigned long long minimum = ~0ull;
    for (int k = 0; k < 64; k++) {
        state = state * multiplier + increment;
        unsigned long long folded = (unsigned long long)(state >> 64) ^ (unsigned long long)state;
        int r = (int)(state >> 122);
        minimum = min(minimum, folded >> r | folded << (-r & 63));
    }
    minima[i] = minimum;
}

__device__ __forceinline__ int hexValue(unsigned char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

extern "C" __global__ __launch_bounds__(128)
void url_decode(unsigned char* __restrict__ fields, const unsigned char* __restrict__ text, const unsigned* __restrict__ offsets, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned char* field = fields + 32 * i;
    int k = offsets[i], end = offsets[i + 1], len = 0;
    bool valid = true;
    while (k < end) {
        unsigned char byte = text[k];
        if (byte == '%') {
            if (k + 2 >= end) { valid = false; break; }
            int high = hexValue(text[k + 1]), low = hexValue(text[k + 2]);
            if (high < 0 || low < 0) { valid = false; break; }
            byte = high << 4 | low;
            k += 3;
        } else {
            if (byte == '+') byte = ' ';
            k++;
        }
        if (len == 32) { valid = false; break; }
        field[len++] = byte;
    }
    if (!valid) {
        for (int j = 0; j < 32; j++) field[j] = '?';
    } else {
        while (len < 32) field[len++] = 0;
    }
}

extern "C" __global__ __launch_bounds__(256)
void jump_flood3d(unsigned* __restrict__ to, const unsigned* __restrict__ from, int width, int height, int depth, int step) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z;
    if (x >= width || y >= height) return;
    unsigned nearest = ~0u;
    int best = 0x7fffffff;
    for (int k = -1; k <= 1; k++)
        for (int j = -1; j <= 1; j++)
            for (int i = -1; i <= 1; i++) {
                int nx = x + i * step, ny = y + j * step, nz = z + k * step;
                if (nx < 0 || nx >= width || ny < 0 || ny >= height || nz < 0 || nz >= depth) continue;
                unsigned seed = from[(nz * height + ny) * width + nx];
                if (seed == ~0u) continue;
                int dx = x - (int)(seed & 1023), dy = y - (int)(seed >> 10 & 1023), dz = z - (int)(seed >> 20 & 1023);
                int distance = dx * dx + dy * dy + dz * dz;
                if (distance < best) {
                    best = distance;
                    nearest = seed;
                }
            }
    to[(z * height + y) * width + x] = nearest;
}

extern "C" __global__ __launch_bounds__(256)
void mesh_normals(float* __restrict__ normals, const float* __restrict__ positions, const unsigned* __restrict__ faces, const unsigned* __restrict__ starts, const unsigned* __restrict__ around, int n) {
    int vertex = blockIdx.x * blockDim.x + threadIdx.x;
    if (vertex >= n) return;
    float x = 0, y = 0, z = 0;
    int end = starts[vertex + 1];
    for (int k = starts[vertex]; k < end; k++) {
        const unsigned* face = faces + 3 * around[k];
        const float* a = positions + 3 * face[0];
        const float* b = positions + 3 * face[1];
        const float* c = positions + 3 * face[2];
        float ux = b[0] - a[0], uy = b[1] - a[1], uz = b[2] - a[2];
        float vx = c[0] - a[0], vy = c[1] - a[1], vz = c[2] - a[2];
        x += uy * vz - uz * vy;
        y += uz * vx - ux * vz;
        z += ux * vy - uy * vx;
    }
    float length = sqrtf(x * x + y * y + z * z);
    bool good = length > 0;
    normals[3 * vertex] = good ? x / length : 0.0f;
    normals[3 * vertex + 1] = good ? y / length : 0.0f;
    normals[3 * vertex + 2] = good ? z / length : 1.0f;
}

template <int R, int C> __device__ __forceinline__ Matrix<C, R> transposed(const Matrix<R, C>& a) {
    Matrix<C, R> t;
#pragma unroll
    for (int i = 0; i < C; i++)
#pragma unroll
        for (int j = 0; j < R; j++) t.m[i][j] = a.m[j][i];
    return t;
}
template <int R, int C> __device__ __forceinline__ Matrix<R, C> operator-(const Matrix<R, C>& a, const Matrix<R, C>& b) {
    Matrix<R, C> c;
#pragma unroll
    for (int i = 0; i < R; i++)
#pragma unroll
        for (int j = 0; j < C; j++) c.m[i][j] = a.m[i][j] - b.m[i][j];
    return c;
}
template <int R, int C> __device__ __forceinline__ float norm(const Matrix<R, C>& a) {
    float norm = 0;
#pragma unroll
    for (int i = 0; i < R; i++) {
        float sum = 0;
#pragma unroll
        for (int j = 0; j < C; j++) sum += fabsf(a.m[i][j]);
        norm = fmaxf(norm, sum);
    }
    return norm;
}

struct LinearSystem {
    Matrix<3, 3> a;
    Matrix<3, 2> b;
};

extern "C" __global__ __launch_bounds__(128)
void riccati(Matrix<2, 3>* __restrict__ gains, const LinearSystem* __restrict__ systems, float effort, int n) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= n) return;
    Matrix<3, 3> a = systems[index].a, at = transposed(a);
    Matrix<3, 2> b = systems[index].b;
    Matrix<2, 3> bt = transposed(b), gain;
    Matrix<3, 3> p = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    for (int iteration = 0; iteration < 50; iteration++) {
        Matrix<2, 3> btp = bt * p, t = btp * a;
        Matrix<2, 2> s = btp * b;
        s.m[0][0] += effort;
        s.m[1][1] += effort;
        float determinant = s.m[0][0] * s.m[1][1] - s.m[0][1] * s.m[1][0];
        if (determinant == 0) {
            for (int j = 0; j < 3; j++) gain.m[0][j] = gain.m[1][j] = nanf("");
            break;
        }
        float scale = 1.0f / determinant;
        Matrix<2, 2> inverse = {{{s.m[1][1] * scale, -s.m[0][1] * scale}, {-s.m[1][0] * scale, s.m[0][0] * scale}}};
        gain = inverse * t;
        Matrix<3, 3> next = at * p * (a - b * gain);
        for (int i = 0; i < 3; i++) next.m[i][i] += 1;
        float change = norm(next - p);
        p = next;
        if (change < 1e-4f * norm(p)) break;
    }
    gains[index] = gain;
}

extern "C" __global__ __launch_bounds__(128)
void ring_convolve(float* __restrict__ filtered, const __half* __restrict__ samples, const unsigned short* __restrict__ starts, const float* __restrict__ filter, int taps, int n) {
    int channel = blockIdx.x * blockDim.x + threadIdx.x;
    if (channel >= n) return;
    const __half* ring = samples + channel * taps;
    int start = starts[channel], k = 0;
    float sum = 0;
    for (int i = start; i < taps; i++) sum += __half2float(ring[i]) * filter[k++];
    for (int i = 0; i < start; i++) sum += __half2float(ring[i]) * filter[k++];
    filtered[channel] = sum;
}

extern "C" __global__ __launch_bounds__(256)
void line_starts(unsigned* __restrict__ counts, unsigned* __restrict__ starts, const unsigned char* __restrict__ text, int len) {
    __shared__ int warps[8];
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const unsigned char* document = text + (size_t)blockIdx.x * len;
    unsigned* own = starts + blockIdx.x * 1024;
    int lines = 0;
    for (int tile = 0; tile < len; tile += 256) {
        int i = tile + t;
        bool endsLine = i < len && document[i] == '\n';
        unsigned votes = __ballot_sync(~0u, endsLine);
        if (lane == 0) warps[warp] = __popc(votes);
        __syncthreads();
        int place = lines + __popc(votes & ((1u << lane) - 1));
        for (int w = 0; w < 8; w++) {
            int count = warps[w];
            if (w < warp) place += count;
            lines += count;
        }
        if (endsLine && place < 1024) own[place] = i + 1;
        __syncthreads();
    }
    if (t == 0) counts[blockIdx.x] = lines;
}

extern "C" __global__ __launch_bounds__(256)
void pair_counts(unsigned* __restrict__ counts, const float* __restrict__ x, const float* __restrict__ y, const float* __restrict__ z, int n, float range) {
    __shared__ float3 tile[256];
    __shared__ unsigned bins[64];
    int t = threadIdx.x;
    float scale = 64 / range;
    if (t < 64) bins[t] = 0;
    int tiles = (n + 255) / 256;
    for (int pair = blockIdx.x; pair < tiles * tiles; pair += gridDim.x) {
        int from = pair / tiles * 256, to = pair % tiles * 256;
        __syncthreads();
        if (to + t < n) tile[t] = make_float3(x[to + t], y[to + t], z[to + t]);
        __syncthreads();
        int own = from + t;
        if (own < n) {
            float3 p = make_float3(x[own], y[own], z[own]);
            int end = min(256, n - to);
            for (int k = 0; k < end; k++) {
                float3 q = tile[k];
                float dx = fabsf(p.x - q.x), dy = fabsf(p.y - q.y), dz = fabsf(p.z - q.z);
                dx = fminf(dx, 1 - dx);
                dy = fminf(dy, 1 - dy);
                dz = fminf(dz, 1 - dz);
                int bin = (int)(sqrtf(dx * dx + dy * dy + dz * dz) * scale);
                if (bin < 64 && own != to + k) atomicAdd(&bins[bin], 1);
            }
        }
    }
    __syncthreads();
    if (t < 64) atomicAdd(&counts[t], bins[t]);
}

__device__ __forceinline__ float warpSum(float x) {
    for (int d = 16; d > 0; d /= 2) x += __shfl_xor_sync(~0u, x, d);
    return x;
}

extern "C" __global__ __launch_bounds__(256)
void sinkhorn(float* __restrict__ totals, const float* __restrict__ costs, float sharpness, int iterations) {
    __shared__ float kernel[32][33], u[32], v[32], sums[8];
    int lane = threadIdx.x, w = threadIdx.y;
    const float* cost = costs + 1024 * blockIdx.x;
#pragma unroll
    for (int row = w; row < 32; row += 8) kernel[row][lane] = expf(-sharpness * cost[32 * row + lane]);
    if (w == 0) v[lane] = 1;
    __syncthreads();
    for (int i = 0; i < iterations; i++) {
        float factor = v[lane];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            int row = w + 8 * k;
            float sum = warpSum(kernel[row][lane] * factor);
            if (lane == 0) u[row] = 1 / (32 * sum);
        }
        __syncthreads();
        factor = u[lane];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            int column = w + 8 * k;
            float sum = warpSum(kernel[lane][column] * factor);
            if (lane == 0) v[column] = 1 / (32 * sum);
        }
        __syncthreads();
    }
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        int row = w + 8 * k;
        sum += u[row] * kernel[row][lane] * cost[32 * row + lane];
    }
    sum = warpSum(sum * v[lane]);
    if (lane == 0) sums[w] = sum;
    __syncthreads();
    if (lane == 0 && w == 0) {
        float total = 0;
        for (int k = 0; k < 8; k++) total += sums[k];
        totals[blockIdx.x] = total;
    }
}

extern "C" __global__ __launch_bounds__(256)
void simplex_project(double* __restrict__ to, const double* __restrict__ from) {
    __shared__ double warps[3][8];
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    int start = 1024 * blockIdx.x + t;
    double own[4], largest = -INFINITY;
    for (int k = 0; k < 4; k++) {
        own[k] = from[start + 256 * k];
        largest = fmax(largest, own[k]);
    }
    for (int d = 16; d > 0; d /= 2) largest = fmax(largest, __shfl_xor_sync(~0u, largest, d));
    if (lane == 0) warps[2][warp] = largest;
    __syncthreads();
    for (int w = 0; w < 8; w++) largest = fmax(largest, warps[2][w]);
    double low = largest - 1, high = largest;
    int half = 0;
    while (high - low > 1e-9) {
        double level = 0.5 * (low + high), above = 0;
        for (int k = 0; k < 4; k++) above += fmax(own[k] - level, 0.0);
        for (int d = 16; d > 0; d /= 2) above += __shfl_xor_sync(~0u, above, d);
        if (lane == 0) warps[half][warp] = above;
        __syncthreads();
        double sum = 0;
        for (int w = 0; w < 8; w++) sum += warps[half][w];
        half ^= 1;
        if (sum > 1) low = level;
        else high = level;
    }
    for (int k = 0; k < 4; k++) to[start + 256 * k] = fmax(own[k] - high, 0.0);
}

extern "C" __global__ __launch_bounds__(128)
void legendre_sum(double* __restrict__ values, const double2* __restrict__ points, const double2* __restrict__ recurrence, const double2* __restrict__ weights, int degree, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double2 point = points[i];
    double x = point.x, radius = sqrt(1 - x * x), sin, cos;
    sincos(point.y, &sin, &cos);
    double s = 0, c = 1, sectoral = 1, sum = 0;
    int place = 0;
    for (int order = 0; order <= degree; order++) {
        double before = 0, last = sectoral;
        for (int l = order; l <= degree; l++) {
            double2 r = recurrence[place], w = weights[place];
            sum += last * (w.x * c + w.y * s);
            double next = r.x * x * last - r.y * before;
            before = last;
            last = next;
            place++;
        }
        sectoral *= radius;
        double next = s * cos + c * sin;
        c = c * cos - s * sin;
        s = next;
    }
    values[i] = sum;
}

extern "C" __global__ __launch_bounds__(128)
void path_budget(unsigned* __restrict__ steps, const short2* __restrict__ points, const float* __restrict__ budgets, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const short2* path = points + 64 * i;
    float budget = budgets[i], sum = 0;
    int count = 0;
    for (int step = 0; step < 126; step++) {
        int k = step < 63 ? step : 125 - step;
        short2 a = path[k], b = path[k + 1];
        int dx = b.x - a.x, dy = b.y - a.y;
        sum += sqrtf((float)(dx * dx + dy * dy));
        if (sum > budget) break;
        count++;
    }
    steps[i] = count;
}

extern "C" __global__ __launch_bounds__(128)
void palindrome(unsigned short* __restrict__ starts, unsigned short* __restrict__ lengths, const unsigned char* __restrict__ texts, const unsigned* __restrict__ offsets, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned char* text = texts + offsets[i];
    int len = offsets[i + 1] - offsets[i], start = 0, length = 0;
    for (int center = 0; center < len; center++)
        for (int middle = 1; middle >= 0; middle--) {
            int low = center - 1, high = center + middle;
            while (low >= 0 && high < len && text[low] == text[high]) {
                low--;
                high++;
            }
            if (high - low - 1 > length) {
                start = low + 1;
                length = high - low - 1;
            }
        }
    starts[i] = start;
    lengths[i] = length;
}

extern "C" __global__ __launch_bounds__(256)
void fov_lights(unsigned char* __restrict__ seen, const unsigned char* __restrict__ map, const int2* __restrict__ lights, int count, int width, int height) {
    int toX = blockIdx.x * blockDim.x + threadIdx.x;
    int toY = blockIdx.y * blockDim.y + threadIdx.y;
    if (toX >= width || toY >= height) return;
    int visible = 0;
    for (int k = 0; k < count; k++) {
        int x = lights[k].x, y = lights[k].y;
        int dx = abs(toX - x), dy = abs(toY - y);
        int sx = x < toX ? 1 : -1, sy = y < toY ? 1 : -1;
        int error = dx - dy;
        while (true) {
            if (x == toX && y == toY) {
                visible++;
                break;
            }
            if (map[y * width + x]) break;
            int twice = 2 * error;
            if (twice >= -dy) {
                error -= dy;
                x += sx;
            }
            if (twice <= dx) {
                error += dx;
                y += sy;
            }
        }
    }
    seen[toY * width + toX] = visible;
}

extern "C" __global__ __launch_bounds__(64)
void nussinov(unsigned* __restrict__ pairs, const unsigned char* __restrict__ sequences) {
    __shared__ unsigned table[64][64];
    int i = threadIdx.x;
    const unsigned char* sequence = sequences + 64 * blockIdx.x;
    for (int k = 0; k < 64; k++) table[k][i] = 0;
    __syncthreads();
    for (int length = 1; length < 64; length++) {
        int j = i + length;
        if (j < 64) {
            unsigned best = 0;
            for (int k = i; k < j; k++) best = max(best, table[i][k] + table[k + 1][j]);
            if (length > 3 && 0x5a48 >> (4 * sequence[i] + sequence[j]) & 1) best = max(best, table[i + 1][j - 1] + 1);
            table[i][j] = best;
        }
        __syncthreads();
    }
    if (i == 0) pairs[blockIdx.x] = table[0][63];
}

extern "C" __global__ __launch_bounds__(256)
void rule_automaton(unsigned* __restrict__ to, const unsigned* __restrict__ from, unsigned rule, int steps) {
    __shared__ unsigned words[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    unsigned center = from[i];
    for (int s = 0; s < steps; s++) {
        words[t] = center;
        __syncthreads();
        unsigned left = center << 1 | words[(t + 255) % 256] >> 31;
        unsigned right = center >> 1 | words[(t + 1) % 256] << 31;
        unsigned next = 0;
#pragma unroll
        for (int pattern = 0; pattern < 8; pattern++)
            if (rule >> pattern & 1)
                next |= (pattern & 4 ? left : ~left) & (pattern & 2 ? center : ~center) & (pattern & 1 ? right : ~right);
        center = next;
        __syncthreads();
    }
    to[i] = center;
}

extern "C" __global__ __launch_bounds__(64)
void power_iteration(float* __restrict__ eigenvalues, const float* __restrict__ matrices) {
    __shared__ float vector[64];
    __shared__ float2 sums[2];
    int t = threadIdx.x;
    const float* matrix = matrices + 64 * 64 * blockIdx.x;
    float eigenvalue = 0, own = 0.125f;
    for (int i = 0; i < 100; i++) {
        vector[t] = own;
        __syncthreads();
        float product = 0;
        for (int k = 0; k < 64; k++) product += matrix[64 * k + t] * vector[k];
        float square = product * product, along = product * own;
        for (int d = 16; d > 0; d /= 2) {
            square += __shfl_xor_sync(~0u, square, d);
            along += __shfl_xor_sync(~0u, along, d);
        }
        if (t % 32 == 0) sums[t / 32] = make_float2(square, along);
        __syncthreads();
        square = sums[0].x + sums[1].x;
        along = sums[0].y + sums[1].y;
        own = product / sqrtf(square);
        float change = fabsf(along - eigenvalue);
        eigenvalue = along;
        if (change <= 1e-5f * fabsf(eigenvalue)) break;
    }
    if (t == 0) eigenvalues[blockIdx.x] = eigenvalue;
}

extern "C" __global__ __launch_bounds__(128)
void stable_match(unsigned char* __restrict__ matches, const unsigned char* __restrict__ lists, const unsigned char* __restrict__ ranks, int n) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index / 32 >= n) return;
    int lane = threadIdx.x % 32;
    const unsigned char* list = lists + 32 * index;
    const unsigned char* rank = ranks + 32 * index;
    int next = 0, accepted = 255, best = 255;
    while (true) {
        int choice = list[next];
        for (int applicant = 0; applicant < 32; applicant++)
            if (__shfl_sync(~0u, choice, applicant) == lane && rank[applicant] < best) {
                best = rank[applicant];
                accepted = applicant;
            }
        bool rejected = __shfl_sync(~0u, accepted, choice) != lane;
        if (rejected) next++;
        if (!__any_sync(~0u, rejected)) break;
    }
    matches[index] = accepted;
}
