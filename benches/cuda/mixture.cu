// Kernels in many styles.

#include <climits>
#include <cuda_fp16.h>

struct Schedule {
    unsigned long long minutes;
    unsigned hours, days;
    unsigned short months, weekdays;
};

extern "C" __global__ void __launch_bounds__(256) cron_next(const Schedule* __restrict__ schedules, const long long* __restrict__ starts, long long* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Schedule s = schedules[i];
    long long start = starts[i];
    long long today = start / 1440;
    if (start % 1440 < 0) today--;
    int from = (int)(start - today * 1440);
    long long result = -1;
    for (long long day = today; day < today + 1827; day++) {
        int doe = (int)((day + 719468) % 146097);
        if (doe < 0) doe += 146097;
        int yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
        int doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
        int mp = (5 * doy + 2) / 153;
        int d = doy - (153 * mp + 2) / 5 + 1;
        int month = mp < 10 ? mp + 3 : mp - 9;
        int weekday = (int)((day + 4) % 7);
        if (weekday < 0) weekday += 7;
        if ((s.months >> month & 1) && (s.days >> d & 1) && (s.weekdays >> weekday & 1)) {
            int hour = from / 60;
            unsigned long long rest = s.minutes >> (from % 60);
            if ((s.hours >> hour & 1) && rest) {
                result = day * 1440 + from + __ffsll(rest) - 1;
                break;
            }
            rest = (unsigned long long)s.hours >> (hour + 1);
            if (rest && s.minutes) {
                hour += __ffsll(rest);
                result = day * 1440 + hour * 60 + __ffsll(s.minutes) - 1;
                break;
            }
        }
        from = 0;
    }
    to[i] = result;
}

__device__ __forceinline__ int png_predict(int filter, int a, int b, int c) {
    switch (filter) {
        case 0: return 0;
        case 1: return a;
        case 2: return b;
        case 3: return (a + b) >> 1;
        default: {
            int p = a + b - c;
            int pa = abs(p - a), pb = abs(p - b), pc = abs(p - c);
            return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
        }
    }
}

extern "C" __global__ void __launch_bounds__(256) png_filter(const unsigned char* __restrict__ image, unsigned char* __restrict__ to, int stride, int height) {
    int y = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (y >= height) return;
    const unsigned char* row = image + (size_t)y * stride;
    const unsigned char* above = row - stride;
    unsigned char* out = to + (size_t)y * (stride + 1);
    unsigned costs[5] = {};
    for (int x = lane; x < stride; x += 32) {
        int a = x >= 3 ? row[x - 3] : 0, b = y ? above[x] : 0, c = y && x >= 3 ? above[x - 3] : 0;
#pragma unroll
        for (int k = 0; k < 5; k++) costs[k] += abs((signed char)(row[x] - png_predict(k, a, b, c)));
    }
    int best = 0;
    unsigned least = ~0u;
#pragma unroll
    for (int k = 0; k < 5; k++) {
        unsigned cost = __reduce_add_sync(~0u, costs[k]);
        if (cost < least) { least = cost; best = k; }
    }
    if (lane == 0) out[0] = best;
    for (int x = lane; x < stride; x += 32) {
        int a = x >= 3 ? row[x - 3] : 0, b = y ? above[x] : 0, c = y && x >= 3 ? above[x - 3] : 0;
        out[1 + x] = row[x] - png_predict(best, a, b, c);
    }
}

extern "C" __global__ void __launch_bounds__(256) stick_breaking(const float* __restrict__ sticks, float* __restrict__ weights, int len) {
    __shared__ float totals[8];
    int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
    sticks += (size_t)blockIdx.x * len;
    weights += (size_t)blockIdx.x * len;
    float rest = 1;
    int start = 0;
    while (start < len) {
        int x = start + tid;
        float v = x < len ? sticks[x] : 0.0f;
        float scan = 1 - v;
        for (int d = 1; d < 32; d *= 2) {
            float other = __shfl_up_sync(~0u, scan, d);
            if (lane >= d) scan *= other;
        }
        float before = __shfl_up_sync(~0u, scan, 1);
        if (lane == 0) before = 1;
        __syncthreads();
        if (lane == 31) totals[warp] = scan;
        __syncthreads();
        float all = 1;
        for (int w = 0; w < 8; w++) {
            if (w == warp) before *= all;
            all *= totals[w];
        }
        if (x < len) weights[x] = rest * before * v;
        rest *= all;
        start += 256;
        if (rest < 1e-6f) break;
    }
    for (int x = start + tid; x < len; x += 256) weights[x] = 0;
}

extern "C" __global__ void __launch_bounds__(256) winograd_f16(int channels, const __half* __restrict__ image, const __half* __restrict__ filters, float* __restrict__ to, int tiles_x, int tiles_y, int outputs) {
    int tx = blockIdx.x * blockDim.x + threadIdx.x;
    int ty = blockIdx.y * blockDim.y + threadIdx.y;
    int k = blockIdx.z * blockDim.z + threadIdx.z;
    if (tx >= tiles_x || ty >= tiles_y || k >= outputs) return;
    int width = 2 * tiles_x + 2, height = 2 * tiles_y + 2;
    float sum[4][4] = {};
    for (int c = 0; c < channels; c++) {
        const __half* plane = image + c * width * height + 2 * ty * width + 2 * tx;
        const __half* filter = filters + (k * channels + c) * 16;
        float t[4][4];
#pragma unroll
        for (int y = 0; y < 4; y++) {
            float d0 = __half2float(plane[y * width]), d1 = __half2float(plane[y * width + 1]);
            float d2 = __half2float(plane[y * width + 2]), d3 = __half2float(plane[y * width + 3]);
            t[y][0] = d0 - d2; t[y][1] = d1 + d2; t[y][2] = d2 - d1; t[y][3] = d1 - d3;
        }
#pragma unroll
        for (int x = 0; x < 4; x++) {
            sum[0][x] += (t[0][x] - t[2][x]) * __half2float(filter[x]);
            sum[1][x] += (t[1][x] + t[2][x]) * __half2float(filter[4 + x]);
            sum[2][x] += (t[2][x] - t[1][x]) * __half2float(filter[8 + x]);
            sum[3][x] += (t[1][x] - t[3][x]) * __half2float(filter[12 + x]);
        }
    }
    float t[4][2];
#pragma unroll
    for (int y = 0; y < 4; y++) {
        t[y][0] = sum[y][0] + sum[y][1] + sum[y][2];
        t[y][1] = sum[y][1] - sum[y][2] - sum[y][3];
    }
    float* out = to + ((k * tiles_y + ty) * tiles_x + tx) * 4;
#pragma unroll
    for (int x = 0; x < 2; x++) {
        out[x] = t[0][x] + t[1][x] + t[2][x];
        out[2 + x] = t[1][x] - t[2][x] - t[3][x];
    }
}

extern "C" __global__ void __launch_bounds__(128) svg_bounds(const unsigned char* __restrict__ text, const unsigned* __restrict__ ends, int4* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned char* p = text + (i ? ends[i - 1] : 0);
    const unsigned char* end = text + ends[i];
    int x = 0, y = 0, sx = 0, sy = 0;
    int x0 = INT_MAX, y0 = INT_MAX, x1 = INT_MIN, y1 = INT_MIN;
    char command = 'M';
    bool fine = true;
    while (true) {
        while (p < end && (*p == ' ' || *p == ',')) p++;
        if (p >= end) break;
        char letter = *p | 32;
        if (letter >= 'a' && letter <= 'z') command = *p++;
        char upper = command & ~32;
        int count = upper == 'M' || upper == 'L' ? 2 : upper == 'H' || upper == 'V' ? 1 : upper == 'Z' ? 0 : -1;
        if (count < 0) { fine = false; break; }
        int number[2] = {};
#pragma unroll
        for (int k = 0; k < 2; k++) {
            if (k >= count) break;
            while (p < end && (*p == ' ' || *p == ',')) p++;
            bool negative = p < end && *p == '-';
            if (negative) p++;
            const unsigned char* first = p;
            int value = 0;
            while (p < end && *p >= '0' && *p <= '9') value = value * 10 + (*p++ - '0');
            if (p == first) fine = false;
            number[k] = negative ? -value : value;
        }
        if (!fine) break;
        int ox = command & 32 ? x : 0, oy = command & 32 ? y : 0;
        switch (upper) {
            case 'Z': x = sx; y = sy; break;
            case 'H': x = ox + number[0]; break;
            case 'V': y = oy + number[0]; break;
            default: x = ox + number[0]; y = oy + number[1];
        }
        if (upper == 'M') {
            sx = x; sy = y;
            command = 'L' | (command & 32);
        }
        x0 = min(x0, x); y0 = min(y0, y); x1 = max(x1, x); y1 = max(y1, y);
    }
    to[i] = fine ? make_int4(x0, y0, x1, y1) : make_int4(0, 0, 0, 0);
}

extern "C" __global__ void __launch_bounds__(256) hilbert3d(unsigned x0, unsigned y0, unsigned z0, unsigned long long* __restrict__ to, int nx, int ny, int nz) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= nx || y >= ny || z >= nz) return;
    unsigned p[3] = {x0 + x, y0 + y, z0 + z};
    for (unsigned q = 1u << 15; q > 1; q >>= 1) {
        unsigned low = q - 1;
#pragma unroll
        for (int k = 0; k < 3; k++) {
            if (p[k] & q) p[0] ^= low;
            else { unsigned t = (p[0] ^ p[k]) & low; p[0] ^= t; p[k] ^= t; }
        }
    }
    p[1] ^= p[0];
    p[2] ^= p[1];
    unsigned t = 0;
    for (unsigned q = 1u << 15; q > 1; q >>= 1) if (p[2] & q) t ^= q - 1;
    unsigned long long index = 0;
    for (int bit = 15; bit >= 0; bit--) {
#pragma unroll
        for (int k = 0; k < 3; k++) index = index << 1 | ((p[k] ^ t) >> bit & 1);
    }
    to[(z * ny + y) * nx + x] = index;
}

extern "C" __global__ void __launch_bounds__(256) surface_nets3d(const float* __restrict__ field, float4* __restrict__ to, int nx, int ny, int nz) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= nx || y >= ny || z >= nz) return;
    int width = nx + 1, height = ny + 1;
    float d[8];
    int inside = 0;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        d[k] = field[((z + (k >> 2)) * height + y + (k >> 1 & 1)) * width + x + (k & 1)];
        inside += d[k] < 0;
    }
    float sum[3] = {}, count = 0;
    if (inside != 0 && inside != 8) {
#pragma unroll
        for (int axis = 0; axis < 3; axis++) {
#pragma unroll
            for (int a = 0; a < 8; a++) {
                if (a >> axis & 1) continue;
                int b = a | 1 << axis;
                if ((d[a] < 0) != (d[b] < 0)) {
                    float t = d[a] / (d[a] - d[b]);
#pragma unroll
                    for (int k = 0; k < 3; k++) sum[k] += k == axis ? t : (float)(a >> k & 1);
                    count += 1;
                }
            }
        }
        sum[0] = x + sum[0] / count;
        sum[1] = y + sum[1] / count;
        sum[2] = z + sum[2] / count;
    }
    to[(z * ny + y) * nx + x] = make_float4(sum[0], sum[1], sum[2], count);
}

struct CdsLegs { double discount, survival, annuity, protection; };

__device__ __forceinline__ CdsLegs extend(CdsLegs l, int quarters, double step, double intensity) {
    double stay = exp(-0.25 * intensity);
    for (int q = 0; q < quarters; q++) {
        l.discount *= step;
        double next = l.survival * stay;
        l.annuity += 0.25 * l.discount * next;
        l.protection += l.discount * (l.survival - next);
        l.survival = next;
    }
    return l;
}

extern "C" __global__ void __launch_bounds__(128) cds_bootstrap(const double* __restrict__ s1, const double* __restrict__ s3, const double* __restrict__ s5, const double* __restrict__ s7, const double* __restrict__ s10, const double* __restrict__ rate, const double* __restrict__ recovery, double* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int tenors[5] = {4, 12, 20, 28, 40};
    double step = exp(-0.25 * rate[i]), loss = 1 - recovery[i];
    double spreads[5] = {s1[i], s3[i], s5[i], s7[i], s10[i]};
    CdsLegs legs = {1, 1, 0, 0};
    int from = 0;
#pragma unroll
    for (int k = 0; k < 5; k++) {
        int quarters = tenors[k] - from;
        double low = 0, high = 2;
        while (high - low > 1e-10) {
            double middle = 0.5 * (low + high);
            CdsLegs end = extend(legs, quarters, step, middle);
            if (loss * end.protection - spreads[k] * end.annuity < 0) low = middle;
            else high = middle;
        }
        double h = 0.5 * (low + high);
        legs = extend(legs, quarters, step, h);
        from = tenors[k];
        to[5 * i + k] = h;
    }
}

__device__ __forceinline__ unsigned long long chess_step(int direction, unsigned long long b) {
    const unsigned long long A = 0x0101010101010101ull, H = A << 7;
    switch (direction) {
        case 0: return b << 8;
        case 1: return b >> 8;
        case 2: return (b & ~H) << 1;
        case 3: return (b & ~A) >> 1;
        case 4: return (b & ~H) << 9;
        case 5: return (b & ~A) << 7;
        case 6: return (b & ~H) >> 7;
        default: return (b & ~A) >> 9;
    }
}

extern "C" __global__ void __launch_bounds__(256) chess_mobility(const unsigned short* __restrict__ positions, int* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned short* p = positions + 16 * i;
    unsigned long long white = 0, black = 0;
    for (int k = 0; k < 16; k++) {
        int code = p[k], kind = code >> 6 & 7;
        if (kind >= 1 && kind <= 6) {
            unsigned long long bit = 1ull << (code & 63);
            if (code >> 9 & 1) white |= bit; else black |= bit;
        }
    }
    unsigned long long occupied = white | black;
    int sum = 0;
    for (int k = 0; k < 16; k++) {
        int code = p[k], kind = code >> 6 & 7;
        if (kind < 1 || kind > 6) continue;
        bool is_white = code >> 9 & 1;
        unsigned long long b = 1ull << (code & 63), reached = 0;
        if (kind == 1) {
            reached = is_white ? chess_step(4, b) | chess_step(5, b) : chess_step(6, b) | chess_step(7, b);
        } else if (kind == 2) {
#pragma unroll
            for (int v = 0; v < 2; v++)
#pragma unroll
                for (int h = 2; h < 4; h++) {
                    unsigned long long corner = chess_step(h, chess_step(v, b));
                    reached |= chess_step(v, corner) | chess_step(h, corner);
                }
        } else {
            int first = kind == 3 ? 4 : 0, end = kind == 4 ? 4 : 8;
            for (int d = first; d < end; d++) {
                unsigned long long square = chess_step(d, b);
                while (square) {
                    reached |= square;
                    if (kind == 6 || (square & occupied)) break;
                    square = chess_step(d, square);
                }
            }
        }
        sum += is_white ? __popcll(reached & ~white) : -__popcll(reached & ~black);
    }
    to[i] = sum;
}

extern "C" __global__ void __launch_bounds__(256) hyperloglog(const unsigned long long* __restrict__ keys, unsigned* __restrict__ to, int n) {
    __shared__ unsigned ranks[1024];
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) ranks[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned long long hash = keys[i] * 0x9e3779b97f4a7c15ull;
        hash = (hash ^ hash >> 32) * 0xd6e8feb86659fd93ull;
        hash ^= hash >> 32;
        unsigned rank = __clzll(hash >> 10) - 9;
        unsigned* cell = &ranks[hash & 1023];
        if (*(volatile unsigned*)cell < rank) atomicMax(cell, rank);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 1024; i += blockDim.x)
        if (ranks[i]) atomicMax(&to[i], ranks[i]);
}

__device__ __forceinline__ unsigned long long block_scan_u64(unsigned long long* totals, unsigned long long value, unsigned long long& all) {
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    unsigned long long scan = value;
    for (int d = 1; d < 32; d *= 2) {
        unsigned long long other = __shfl_up_sync(~0u, scan, d);
        if (lane >= d) scan += other;
    }
    __syncthreads();
    if (lane == 31) totals[warp] = scan;
    __syncthreads();
    unsigned long long before = 0;
    all = 0;
    for (int w = 0; w < 8; w++) {
        if (w == warp) before = all;
        all += totals[w];
    }
    return before + scan - value;
}

extern "C" __global__ void __launch_bounds__(256) systematic_resample(const unsigned* __restrict__ weights, const unsigned long long* __restrict__ firsts, unsigned* __restrict__ to, int count) {
    __shared__ unsigned long long totals[8];
    int tid = threadIdx.x;
    weights += (size_t)blockIdx.x * count;
    to += (size_t)blockIdx.x * count;
    unsigned long long mine = 0, total;
    for (int i = tid; i < count; i += 256) mine += weights[i];
    block_scan_u64(totals, mine, total);
    unsigned long long first = firsts[blockIdx.x] % total, carry = 0;
    for (int start = 0; start < count; start += 256) {
        int i = start + tid;
        unsigned long long weight = i < count ? weights[i] : 0, all;
        unsigned long long before = block_scan_u64(totals, weight, all);
        if (i < count) {
            unsigned long long low = count * (carry + before), high = count * (carry + before + weight);
            unsigned long long a = low > first ? (low - first + total - 1) / total : 0;
            unsigned long long b = high > first ? (high - first + total - 1) / total : 0;
            to[i] = (unsigned)(b - a);
        }
        carry += all;
    }
}

__device__ __forceinline__ float3 srgb_to_lab(unsigned char r8, unsigned char g8, unsigned char b8) {
    float c[3] = {r8 / 255.0f, g8 / 255.0f, b8 / 255.0f};
#pragma unroll
    for (int k = 0; k < 3; k++) c[k] = c[k] <= 0.04045f ? c[k] / 12.92f : powf((c[k] + 0.055f) / 1.055f, 2.4f);
    float t[3] = {
        (0.4124f * c[0] + 0.3576f * c[1] + 0.1805f * c[2]) / 0.95047f,
        0.2126f * c[0] + 0.7152f * c[1] + 0.0722f * c[2],
        (0.0193f * c[0] + 0.1192f * c[1] + 0.9505f * c[2]) / 1.08883f};
#pragma unroll
    for (int k = 0; k < 3; k++) t[k] = t[k] > 0.008856f ? cbrtf(t[k]) : 7.787f * t[k] + 16.0f / 116.0f;
    return make_float3(116 * t[1] - 16, 500 * (t[0] - t[1]), 200 * (t[1] - t[2]));
}

__device__ __forceinline__ float pow7_ratio(float x) {
    float x2 = x * x, x7 = x2 * x2 * x2 * x;
    return sqrtf(x7 / (x7 + 6103515625.0f));
}

__device__ __forceinline__ float ciede2000(float3 p, float3 q) {
    const float RAD = 0.017453292519943295f, DEG = 57.29577951308232f;
    float g = 0.5f * (1 - pow7_ratio(0.5f * (hypotf(p.y, p.z) + hypotf(q.y, q.z))));
    float a1 = (1 + g) * p.y, a2 = (1 + g) * q.y;
    float c1 = hypotf(a1, p.z), c2 = hypotf(a2, q.z);
    float h1 = atan2f(p.z, a1) * DEG, h2 = atan2f(q.z, a2) * DEG;
    if (h1 < 0) h1 += 360;
    if (h2 < 0) h2 += 360;
    float dl = q.x - p.x, dc = c2 - c1, dh = h2 - h1;
    if (dh > 180) dh -= 360; else if (dh < -180) dh += 360;
    dh = 2 * sqrtf(c1 * c2) * sinf(0.5f * dh * RAD);
    float l = 0.5f * (p.x + q.x), c = 0.5f * (c1 + c2), h = 0.5f * (h1 + h2);
    if (fabsf(h1 - h2) > 180) h += h < 180 ? 180.0f : -180.0f;
    float t = 1 - 0.17f * cosf((h - 30) * RAD) + 0.24f * cosf(2 * h * RAD) + 0.32f * cosf((3 * h + 6) * RAD) - 0.20f * cosf((4 * h - 63) * RAD);
    float turn = (h - 275) / 25;
    turn = 30 * expf(-turn * turn);
    float l50 = (l - 50) * (l - 50);
    float sl = 1 + 0.015f * l50 / sqrtf(20 + l50), sc = 1 + 0.045f * c, sh = 1 + 0.015f * c * t;
    float rt = -2 * pow7_ratio(c) * sinf(2 * turn * RAD);
    float x = dl / sl, y = dc / sc, z = dh / sh;
    return sqrtf(fmaxf(x * x + y * y + z * z + rt * y * z, 0.0f));
}

extern "C" __global__ void __launch_bounds__(256) ciede_nearest(const unsigned char* __restrict__ pixels, const float* __restrict__ palette, unsigned char* __restrict__ to, int colors, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float3 color = srgb_to_lab(pixels[3 * i], pixels[3 * i + 1], pixels[3 * i + 2]);
    int best = 0;
    float least = INFINITY;
    for (int k = 0; k < colors; k++) {
        float d = ciede2000(color, make_float3(palette[3 * k], palette[3 * k + 1], palette[3 * k + 2]));
        if (d < least) { least = d; best = k; }
    }
    to[i] = best;
}

struct M3 { float v[3][3]; };

__device__ __forceinline__ M3 adjugate(const M3& m) {
    M3 r;
#pragma unroll
    for (int y = 0; y < 3; y++)
#pragma unroll
        for (int x = 0; x < 3; x++) {
            int a = (x + 1) % 3, b = (x + 2) % 3, c = (y + 1) % 3, d = (y + 2) % 3;
            r.v[y][x] = m.v[a][c] * m.v[b][d] - m.v[a][d] * m.v[b][c];
        }
    return r;
}

__device__ __forceinline__ M3 basis(const float* q) {
    M3 m;
#pragma unroll
    for (int k = 0; k < 3; k++) { m.v[0][k] = q[2 * k]; m.v[1][k] = q[2 * k + 1]; m.v[2][k] = 1; }
    M3 adj = adjugate(m);
#pragma unroll
    for (int k = 0; k < 3; k++) {
        float s = adj.v[k][0] * q[6] + adj.v[k][1] * q[7] + adj.v[k][2];
        m.v[0][k] *= s; m.v[1][k] *= s; m.v[2][k] *= s;
    }
    return m;
}

extern "C" __global__ void __launch_bounds__(128) homography(const float* __restrict__ from, const float* __restrict__ onto, float* __restrict__ maps, unsigned* __restrict__ counts, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    M3 a = basis(onto + 8 * i), b = adjugate(basis(from + 8 * i)), h;
#pragma unroll
    for (int y = 0; y < 3; y++)
#pragma unroll
        for (int x = 0; x < 3; x++) h.v[y][x] = a.v[y][0] * b.v[0][x] + a.v[y][1] * b.v[1][x] + a.v[y][2] * b.v[2][x];
    float scale = 1 / h.v[2][2];
#pragma unroll
    for (int y = 0; y < 3; y++)
#pragma unroll
        for (int x = 0; x < 3; x++) maps[9 * i + 3 * y + x] = h.v[y][x] *= scale;
    unsigned count = 0;
    for (int ky = 0; ky < 10; ky++) {
        float y = (ky + 0.5f) / 10;
        for (int kx = 0; kx < 10; kx++) {
            float x = (kx + 0.5f) / 10;
            float w = h.v[2][0] * x + h.v[2][1] * y + h.v[2][2];
            if (w > 0) {
                float u = (h.v[0][0] * x + h.v[0][1] * y + h.v[0][2]) / w;
                float v = (h.v[1][0] * x + h.v[1][1] * y + h.v[1][2]) / w;
                count += u >= 0 && u < 1 && v >= 0 && v < 1;
            }
        }
    }
    counts[i] = count;
}

extern "C" __global__ void __launch_bounds__(128) kuhn_matching(const unsigned short* __restrict__ graphs, unsigned* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned short* can_do = graphs + 16 * i;
    signed char task_of[16], person_of[16];
    for (int k = 0; k < 16; k++) task_of[k] = person_of[k] = -1;
    unsigned count = 0;
    for (int start = 0; start < 16; start++) {
        signed char open[16], asked_by[16];
        int len = 1;
        unsigned seen = 0;
        open[0] = start;
        bool found = false;
        while (len > 0 && !found) {
            int person = open[--len];
            unsigned tasks = can_do[person] & ~seen;
            seen |= tasks;
            while (tasks) {
                int task = __ffs(tasks) - 1;
                tasks &= tasks - 1;
                asked_by[task] = person;
                int other = person_of[task];
                if (other < 0) {
                    while (task >= 0) {
                        int p = asked_by[task], next = task_of[p];
                        task_of[p] = task;
                        person_of[task] = p;
                        task = next;
                    }
                    count++;
                    found = true;
                    break;
                }
                open[len++] = other;
            }
        }
    }
    to[i] = count;
}

__constant__ unsigned residues[26] = {71037, 0, 103009, 115027, 129043, 147068, 57021, 137059, 113084, 0, 128095, 113084, 131040, 114043, 0, 97053, 128059, 156101, 87032, 101048, 0, 99068, 186079, 0, 163063, 0};

extern "C" __global__ void __launch_bounds__(128) tryptic_digest(const unsigned char* __restrict__ proteins, const unsigned* __restrict__ ends, const unsigned* __restrict__ masses, int count, unsigned* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int p = i ? ends[i - 1] : 0, end = ends[i];
    unsigned hits = 0;
    while (p < end) {
        int first = p;
        unsigned mass = 18011;
        while (true) {
            unsigned char residue = proteins[p++];
            mass += residues[residue - 'A'];
            if (p == end || ((residue == 'K' || residue == 'R') && proteins[p] != 'P')) break;
        }
        int length = p - first;
        if (length < 5 || length > 40) continue;
        unsigned tolerance = mass / 50000;
        int low = 0, high = count;
        while (low < high) {
            int middle = (low + high) / 2;
            if (masses[middle] < mass - tolerance) low = middle + 1; else high = middle;
        }
        for (; low < count && masses[low] <= mass + tolerance; low++) hits++;
    }
    to[i] = hits;
}

struct RingStats { float smoothed, largest_jump; unsigned turns, above; };

extern "C" __global__ void __launch_bounds__(128) ring_stats(const float* __restrict__ samples, const unsigned* __restrict__ heads, RingStats* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float* ring = samples + i * 64;
    int head = heads[i];
    float smoothed = 0, largest_jump = 0, last = 0, last_step = 0;
    unsigned turns = 0;
    for (int k = 0; k < 64; k++) {
        float x = ring[(head + k) & 63];
        smoothed += 0.125f * (x - smoothed);
        if (k > 0) {
            float step = x - last;
            largest_jump = fmaxf(largest_jump, fabsf(step));
            if (k > 1 && step * last_step < 0) turns++;
            last_step = step;
        }
        last = x;
    }
    unsigned above = 0;
    while (above < 64 && ring[(head + 63 - above) & 63] > 0.25f * smoothed) above++;
    to[i] = {smoothed, largest_jump, turns, above};
}

extern "C" __global__ void __launch_bounds__(256) cusum_alarm(const float* __restrict__ samples, float drift, const float* __restrict__ limits, unsigned* __restrict__ to, int series, int times) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= series) return;
    float limit = limits[i], sum = 0;
    unsigned alarm = ~0u;
    for (int time = 0; time < times; time++) {
        sum = fmaxf(sum + samples[time * series + i] - drift, 0.0f);
        if (sum > limit) { alarm = time; break; }
    }
    to[i] = alarm;
}

extern "C" __global__ void __launch_bounds__(256) sqrt_period(unsigned long long start, unsigned* __restrict__ to, int count) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        unsigned long long n = start + i, root = (unsigned long long)sqrt((double)n);
        while (root * root > n) root--;
        while ((root + 1) * (root + 1) <= n) root++;
        unsigned period = 0;
        if (root * root != n) {
            unsigned long long m = 0, d = 1, a = root;
            do {
                m = d * a - m;
                d = (n - m * m) / d;
                a = (root + m) / d;
                period++;
            } while (a != 2 * root);
        }
        to[i] = period;
    }
}

extern "C" __global__ void __launch_bounds__(256) logistic_grad(const float* __restrict__ samples, const unsigned char* __restrict__ labels, const float* __restrict__ weights, float* __restrict__ gradients, float* __restrict__ losses, int n) {
    __shared__ float sums[8][9];
    float w[8], own[9] = {};
#pragma unroll
    for (int k = 0; k < 8; k++) w[k] = weights[k];
    const float4* rows = reinterpret_cast<const float4*>(samples);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float4 a = rows[2 * i], b = rows[2 * i + 1];
        float x[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
        float score = 0;
#pragma unroll
        for (int k = 0; k < 8; k++) score += x[k] * w[k];
        float target = labels[i];
        float p = 1 / (1 + expf(-score));
        own[8] += fmaxf(score, 0.0f) - score * target + log1pf(expf(-fabsf(score)));
#pragma unroll
        for (int k = 0; k < 8; k++) own[k] += (p - target) * x[k];
    }
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
#pragma unroll
    for (int k = 0; k < 9; k++) {
        for (int d = 16; d > 0; d /= 2) own[k] += __shfl_xor_sync(~0u, own[k], d);
        if (lane == 0) sums[warp][k] = own[k];
    }
    __syncthreads();
    int t = threadIdx.x;
    if (t < 9) {
        float sum = 0;
        for (int v = 0; v < 8; v++) sum += sums[v][t];
        if (t < 8) gradients[8 * blockIdx.x + t] = sum;
        else losses[blockIdx.x] = sum;
    }
}

extern "C" __global__ void __launch_bounds__(64) ctc_alpha(const float* __restrict__ log_probs, int times, const unsigned char* __restrict__ labels, const unsigned* __restrict__ lengths, float* __restrict__ losses) {
    __shared__ float alpha[64];
    const float NEVER = -1e30f;
    int s = threadIdx.x, utterance = blockIdx.x;
    const float* steps = log_probs + (size_t)utterance * times * 32;
    labels += 31 * utterance;
    int length = lengths[utterance], symbol = 0;
    bool skips = false;
    if (s % 2 == 1 && s / 2 < length) {
        symbol = labels[s / 2];
        skips = s >= 2 && symbol != labels[s / 2 - 1];
    }
    alpha[s] = s < 2 ? steps[symbol] : NEVER;
    for (int time = 1; time < times; time++) {
        __syncthreads();
        float a = alpha[s], b = s >= 1 ? alpha[s - 1] : NEVER, c = skips ? alpha[s - 2] : NEVER;
        float m = fmaxf(fmaxf(a, b), c);
        float next = m + logf(expf(a - m) + expf(b - m) + expf(c - m)) + steps[time * 32 + symbol];
        __syncthreads();
        alpha[s] = next;
    }
    __syncthreads();
    if (s == 0) {
        float a = alpha[2 * length], b = alpha[2 * length - 1], m = fmaxf(a, b);
        losses[utterance] = -(m + logf(expf(a - m) + expf(b - m)));
    }
}

__device__ __forceinline__ bool separates(int4 s, int4 o) {
    long long ux = s.z - s.x, uy = s.w - s.y;
    long long a = ux * (o.y - s.y) - uy * (o.x - s.x), b = ux * (o.w - s.y) - uy * (o.z - s.x);
    return (a > 0) != (b > 0);
}

extern "C" __global__ void __launch_bounds__(128) crossing_segments(const int* __restrict__ x0, const int* __restrict__ y0, const int* __restrict__ x1, const int* __restrict__ y1, unsigned* __restrict__ counts, int n) {
    __shared__ int4 tile[128];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    int4 s = make_int4(0, 0, 0, 0);
    if (i < n) s = make_int4(x0[i], y0[i], x1[i], y1[i]);
    unsigned count = 0;
    for (int start = 128 * blockIdx.y; start < n; start += 128 * gridDim.y) {
        int k = start + t;
        tile[t] = k < n ? make_int4(x0[k], y0[k], x1[k], y1[k]) : make_int4(INT_MAX, INT_MAX, INT_MAX, INT_MAX);
        __syncthreads();
        for (int j = 0; j < 128; j++) {
            int4 o = tile[j];
            if (min(s.x, s.z) <= max(o.x, o.z) && min(o.x, o.z) <= max(s.x, s.z) &&
                min(s.y, s.w) <= max(o.y, o.w) && min(o.y, o.w) <= max(s.y, s.w) &&
                separates(s, o) && separates(o, s)) count++;
        }
        __syncthreads();
    }
    if (i < n) atomicAdd(&counts[i], count);
}

__device__ __forceinline__ float4 block_sum4(float4* shared, float4 v) {
#pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        v.x += __shfl_xor_sync(~0u, v.x, d);
        v.y += __shfl_xor_sync(~0u, v.y, d);
        v.z += __shfl_xor_sync(~0u, v.z, d);
        v.w += __shfl_xor_sync(~0u, v.w, d);
    }
    __syncthreads();
    if (threadIdx.x == 0) shared[threadIdx.y] = v;
    __syncthreads();
    float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll
    for (int w = 0; w < 8; w++) {
        float4 o = shared[w];
        sum.x += o.x; sum.y += o.y; sum.z += o.z; sum.w += o.w;
    }
    return sum;
}

extern "C" __global__ void __launch_bounds__(256) star_centroids(const unsigned short* __restrict__ image, int width, const uint2* __restrict__ corners, float4* __restrict__ stars) {
    __shared__ float4 shared[8];
    int tx = threadIdx.x, ty = threadIdx.y;
    uint2 corner = corners[blockIdx.x];
    float value[4];
    float4 border = make_float4(0, 0, 0, 0);
#pragma unroll
    for (int k = 0; k < 4; k++) {
        int y = ty + 8 * k;
        value[k] = image[(corner.y + y) * width + corner.x + tx];
        if (tx == 0 || tx == 31 || y == 0 || y == 31) { border.x += 1; border.y += value[k]; }
    }
    border = block_sum4(shared, border);
    float sky = border.y / border.x, sx = 15.5f, sy = 15.5f, flux = 0, radius = 6;
    for (int step = 0; step < 5; step++) {
        float4 m = make_float4(0, 0, 0, 0);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            float dx = tx - sx, dy = ty + 8 * k - sy, r2 = dx * dx + dy * dy;
            float w = expf(-0.5f * r2 / (radius * radius)) * fmaxf(value[k] - sky, 0.0f);
            m.x += w; m.y += w * dx; m.z += w * dy; m.w += w * r2;
        }
        m = block_sum4(shared, m);
        if (m.x < 1) break;
        sx += 2 * m.y / m.x;
        sy += 2 * m.z / m.x;
        radius = fminf(fmaxf(sqrtf(m.w / m.x), 1.0f), 8.0f);
        flux = m.x;
    }
    if (tx == 0 && ty == 0) stars[blockIdx.x] = make_float4(sx, sy, flux, radius);
}

template <int N>
__device__ __forceinline__ void block_sum_f64(double* shared, double (&v)[N]) {
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < N; k++) {
        for (int d = 16; d > 0; d /= 2) v[k] += __shfl_xor_sync(~0u, v[k], d);
        if (lane == 0) shared[warp * N + k] = v[k];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < N; k++) {
        v[k] = 0;
        for (int w = 0; w < 4; w++) v[k] += shared[w * N + k];
    }
}

extern "C" __global__ void __launch_bounds__(128) lomb_scargle(const double* __restrict__ times, const double* __restrict__ values, double first, double step, double* __restrict__ powers, int n) {
    __shared__ double shared[16];
    double omega = first + step * blockIdx.x;
    double d[2] = {};
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        double s, c;
        sincos(2 * omega * times[i], &s, &c);
        d[0] += s; d[1] += c;
    }
    block_sum_f64(shared, d);
    double offset = atan2(d[0], d[1]) / (2 * omega);
    double v[4] = {};
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        double s, c, y = values[i];
        sincos(omega * (times[i] - offset), &s, &c);
        v[0] += y * c; v[1] += c * c; v[2] += y * s; v[3] += s * s;
    }
    block_sum_f64(shared, v);
    if (threadIdx.x == 0) powers[blockIdx.x] = 0.5 * (v[0] * v[0] / v[1] + v[2] * v[2] / v[3]);
}

extern "C" __global__ void __launch_bounds__(256) lz_match(const unsigned char* __restrict__ text, unsigned* __restrict__ to, int n) {
    __shared__ unsigned char window[512 + 256 + 18];
    int start = 256 * blockIdx.x, t = threadIdx.x;
    for (int i = t; i < 786; i += 256) {
        int at = start + i - 512;
        window[i] = at >= 0 && at < n ? text[at] : 0;
    }
    __syncthreads();
    int i = start + t;
    if (i >= n) return;
    int longest = min(n - i, 18), farthest = min(i, 512);
    const unsigned char* here = window + 512 + t;
    int best = 2;
    unsigned result = 0;
    for (int distance = 1; distance <= farthest; distance++) {
        const unsigned char* there = here - distance;
        int length = 0;
        while (length < longest && here[length] == there[length]) length++;
        if (length > best) { best = length; result = length << 16 | distance; }
    }
    to[i] = result;
}

extern "C" __global__ void __launch_bounds__(256) pagerank_pull(const unsigned* __restrict__ starts, const unsigned* __restrict__ sources, const float* __restrict__ shares, float damping, float* __restrict__ ranks, int pages) {
    int page = (blockIdx.x * blockDim.x + threadIdx.x) / 8, rank = threadIdx.x % 8;
    float sum = 0;
    if (page < pages) {
        int end = starts[page + 1];
        for (int k = starts[page] + rank; k < end; k += 8) sum += shares[sources[k]];
    }
    for (int d = 4; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    if (page < pages && rank == 0) ranks[page] = (1 - damping) / pages + damping * sum;
}

__device__ __forceinline__ float triangle(float x, float a, float b, float c) {
    return fmaxf(fminf((x - a) / (b - a), (c - x) / (c - b)), 0.0f);
}

__device__ __forceinline__ float trapezoid(float x, float a, float b, float c, float d) {
    return fmaxf(fminf(fminf((x - a) / (b - a), (d - x) / (d - c)), 1.0f), 0.0f);
}

__device__ __forceinline__ void fuzzify(float x, float* degree) {
    degree[0] = 1 / (1 + expf(12 * (x + 0.6f)));
    degree[1] = triangle(x, -0.8f, -0.35f, 0.1f);
    degree[2] = expf(-0.5f * (x / 0.2f) * (x / 0.2f));
    degree[3] = triangle(x, -0.1f, 0.35f, 0.8f);
    degree[4] = 1 / (1 + expf(-12 * (x - 0.6f)));
}

extern "C" __global__ void __launch_bounds__(256) fuzzy_control(const float* __restrict__ errors, const float* __restrict__ rates, float* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float e[5], r[5], strengths[5] = {};
    fuzzify(errors[i], e);
    fuzzify(rates[i], r);
#pragma unroll
    for (int a = 0; a < 5; a++)
#pragma unroll
        for (int b = 0; b < 5; b++) {
            int k = a + b < 2 ? 0 : a + b > 6 ? 4 : a + b - 2;
            strengths[k] = fmaxf(strengths[k], fminf(e[a], r[b]));
        }
    float mass = 0, moment = 0;
    for (int k = 0; k < 32; k++) {
        float y = -1.2f + 2.4f * k / 31;
        float degree = fmaxf(0.0f, fminf(trapezoid(y, -1.5f, -1.2f, -0.8f, -0.5f), strengths[0]));
        degree = fmaxf(degree, fminf(triangle(y, -0.8f, -0.4f, 0.0f), strengths[1]));
        degree = fmaxf(degree, fminf(triangle(y, -0.2f, 0.0f, 0.2f), strengths[2]));
        degree = fmaxf(degree, fminf(triangle(y, 0.0f, 0.4f, 0.8f), strengths[3]));
        degree = fmaxf(degree, fminf(trapezoid(y, 0.5f, 0.8f, 1.2f, 1.5f), strengths[4]));
        mass += degree;
        moment += degree * y;
    }
    to[i] = mass > 0 ? moment / mass : 0.0f;
}

extern "C" __global__ void __launch_bounds__(128) dwell_times(const unsigned char* __restrict__ traces, ushort2* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned char* trace = traces + i * 256;
    int count[4] = {}, longest[4] = {};
    int state = trace[0], start = 0;
    for (int k = 1; k <= 256; k++) {
        int next = k < 256 ? trace[k] : -1;
        if (next != state) {
            if (start > 0) {
                int s = state & 3;
                count[s]++;
                longest[s] = max(longest[s], k - start);
            }
            state = next;
            start = k;
        }
    }
#pragma unroll
    for (int s = 0; s < 4; s++) to[4 * i + s] = make_ushort2(count[s], longest[s]);
}

__device__ __forceinline__ int mulaw_decode(int byte) {
    int u = ~byte;
    int t = ((((u & 15) << 3) + 132) << ((u >> 4) & 7)) - 132;
    return u & 128 ? -t : t;
}

__device__ __forceinline__ int alaw_decode(int byte) {
    int a = byte ^ 0x55, e = (a >> 4) & 7, t = (a & 15) << 4;
    t = e == 0 ? t + 8 : (t + 264) << (e - 1);
    return a & 128 ? t : -t;
}

extern "C" __global__ void __launch_bounds__(256) g711_mix(const unsigned char* __restrict__ samples, const unsigned char* __restrict__ codecs, const short* __restrict__ gains, unsigned char* __restrict__ to, int channels, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int sum = 0;
    for (int c = 0; c < channels; c++) {
        int byte = samples[c * n + i], value;
        if (codecs[c] == 0) value = mulaw_decode(byte);
        else if (codecs[c] == 8) value = alaw_decode(byte);
        else continue;
        sum += (value * gains[c]) >> 15;
        sum = min(max(sum, -32768), 32767);
    }
    int magnitude = min(abs(sum), 32635) + 132;
    int exponent = 24 - __clz(magnitude);
    int mantissa = (magnitude >> (exponent + 3)) & 15;
    to[i] = ~((sum < 0 ? 128 : 0) | exponent << 4 | mantissa);
}

__device__ __forceinline__ float turn(float2 a, float2 b, float2 c) {
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

extern "C" __global__ void __launch_bounds__(128) hull_areas(const float2* __restrict__ sets, float* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int N = 12;
    float2 p[N];
    for (int k = 0; k < N; k++) {
        float2 q = sets[N * i + k];
        int j = k;
        while (j > 0 && (p[j - 1].x > q.x || (p[j - 1].x == q.x && p[j - 1].y > q.y))) { p[j] = p[j - 1]; j--; }
        p[j] = q;
    }
    float area = 0;
    for (int side = 0; side < 2; side++) {
        float2 hull[N];
        int len = 0;
        for (int k = 0; k < N; k++) {
            float2 c = p[side == 0 ? k : N - 1 - k];
            while (len >= 2 && turn(hull[len - 2], hull[len - 1], c) <= 0) len--;
            hull[len++] = c;
        }
        for (int k = 1; k < len; k++) area += 0.5f * (hull[k - 1].x * hull[k].y - hull[k - 1].y * hull[k].x);
    }
    to[i] = area;
}

struct Project { unsigned followers[24]; unsigned char durations[24]; };

extern "C" __global__ void __launch_bounds__(128) critical_path(const Project* __restrict__ projects, unsigned* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int N = 24;
    const Project* project = projects + i;
    unsigned char waiting[N] = {}, ready[N];
    unsigned starts[N] = {};
    for (int t = 0; t < N; t++)
        for (unsigned set = project->followers[t]; set; set &= set - 1) waiting[__ffs(set) - 1]++;
    int head = 0, tail = 0;
    for (int t = 0; t < N; t++) if (waiting[t] == 0) ready[tail++] = t;
    unsigned length = 0;
    while (head < tail) {
        int task = ready[head++];
        unsigned end = starts[task] + project->durations[task];
        for (unsigned set = project->followers[task]; set; set &= set - 1) {
            int follower = __ffs(set) - 1;
            starts[follower] = max(starts[follower], end);
            if (--waiting[follower] == 0) ready[tail++] = follower;
        }
        length = max(length, end);
    }
    to[i] = tail == N ? length : ~0u;
}

__device__ __forceinline__ float warp_min(float value, int& lane) {
#pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        float other = __shfl_xor_sync(~0u, value, d);
        int other_lane = __shfl_xor_sync(~0u, lane, d);
        if (other < value || (other == value && other_lane < lane)) { value = other; lane = other_lane; }
    }
    return value;
}

extern "C" __global__ void __launch_bounds__(512) simplex_lp(const float* __restrict__ programs, float* __restrict__ optima) {
    __shared__ float t[16][32];
    int x = threadIdx.x, y = threadIdx.y;
    t[y][x] = programs[512 * blockIdx.x + 32 * y + x];
    __syncthreads();
    for (int step = 0; step < 64; step++) {
        int enters = x;
        if (warp_min(t[15][x], enters) >= -1e-5f) break;
        float ratio = INFINITY;
        if (x < 15 && t[x][enters] > 1e-6f) ratio = t[x][31] / t[x][enters];
        int leaves = x;
        if (warp_min(ratio, leaves) == INFINITY) break;
        float pivoted = t[leaves][x] / t[leaves][enters];
        float next = y == leaves ? pivoted : t[y][x] - t[y][enters] * pivoted;
        __syncthreads();
        t[y][x] = next;
        __syncthreads();
    }
    if (x == 0 && y == 0) optima[blockIdx.x] = t[15][31];
}

struct Site { float score; unsigned at, motif; };

__device__ __forceinline__ bool better(Site a, Site b) {
    return a.score > b.score || (a.score == b.score && a.at < b.at);
}

extern "C" __global__ void __launch_bounds__(256) motif_scan(const unsigned char* __restrict__ genome, const float* __restrict__ motifs, Site* __restrict__ sites, int n) {
    __shared__ unsigned char bases[256 + 15];
    __shared__ float weights[8][16][4];
    __shared__ Site of_warps[8];
    int t = threadIdx.x, start = 256 * blockIdx.x;
    for (int i = t; i < 271; i += 256) bases[i] = start + i < n ? genome[start + i] & 3 : 0;
    for (int i = t; i < 512; i += 256) (&weights[0][0][0])[i] = motifs[i];
    __syncthreads();
    Site best = {-INFINITY, ~0u, 0};
    if (start + t + 16 <= n) {
        for (int k = 0; k < 8; k++) {
            float a = 0, b = 0;
#pragma unroll
            for (int j = 0; j < 16; j++) {
                int base = bases[t + j];
                a += weights[k][j][base];
                b += weights[k][15 - j][3 - base];
            }
            float score = fmaxf(a, b);
            if (score > best.score) best = {score, (unsigned)(start + t), (unsigned)k};
        }
    }
#pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        Site other = {__shfl_xor_sync(~0u, best.score, d), __shfl_xor_sync(~0u, best.at, d), __shfl_xor_sync(~0u, best.motif, d)};
        if (better(other, best)) best = other;
    }
    if (t % 32 == 0) of_warps[t / 32] = best;
    __syncthreads();
    if (t == 0) {
        for (int w = 1; w < 8; w++) if (better(of_warps[w], best)) best = of_warps[w];
        sites[blockIdx.x] = best;
    }
}

extern "C" __global__ void __launch_bounds__(256) flow_sinks(const float* __restrict__ terrain, unsigned short* __restrict__ sinks, int width, int height) {
    __shared__ float heights[32][32];
    __shared__ unsigned short targets[1024];
    int tx = threadIdx.x, ty = threadIdx.y, x0 = 32 * blockIdx.x, y0 = 32 * blockIdx.y;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        int y = ty + 8 * k;
        heights[y][tx] = x0 + tx < width && y0 + y < height ? terrain[(y0 + y) * width + x0 + tx] : INFINITY;
    }
    __syncthreads();
    int now[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        int y = ty + 8 * k, low = 32 * y + tx;
        float least = heights[y][tx];
        for (int v = max(y - 1, 0); v <= min(y + 1, 31); v++)
            for (int u = max(tx - 1, 0); u <= min(tx + 1, 31); u++)
                if (heights[v][u] < least) { least = heights[v][u]; low = 32 * v + u; }
        targets[32 * y + tx] = now[k] = low;
    }
    while (true) {
        __syncthreads();
        int next[4];
        bool changed = false;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            next[k] = targets[now[k]];
            changed |= next[k] != now[k];
        }
        if (!__syncthreads_or(changed)) break;
#pragma unroll
        for (int k = 0; k < 4; k++) targets[32 * (ty + 8 * k) + tx] = now[k] = next[k];
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        int y = ty + 8 * k;
        if (x0 + tx < width && y0 + y < height) sinks[(y0 + y) * width + x0 + tx] = now[k];
    }
}

extern "C" __global__ void __launch_bounds__(256) delay_and_sum(const short* __restrict__ samples, const float* __restrict__ delays, float* __restrict__ energies, int length) {
    __shared__ short signals[8][320];
    __shared__ float sums[8][32];
    int t = threadIdx.x, lane = t & 31, warp = t >> 5, frame = blockIdx.x;
    for (int m = 0; m < 8; m++)
        for (int x = t; x < 320; x += 256) {
            int at = 256 * frame + x;
            signals[m][x] = at < length ? samples[m * length + at] : 0;
        }
    __syncthreads();
    for (int beam = 0; beam < 32; beam++) {
        float sum = 0;
#pragma unroll
        for (int m = 0; m < 8; m++) {
            float delay = delays[8 * beam + m];
            int whole = (int)delay;
            float a = signals[m][t + whole], b = signals[m][t + whole + 1];
            sum += a + (delay - whole) * (b - a);
        }
        float energy = sum * sum;
        for (int d = 16; d > 0; d /= 2) energy += __shfl_xor_sync(~0u, energy, d);
        if (lane == 0) sums[warp][beam] = energy;
    }
    __syncthreads();
    if (t < 32) {
        float energy = 0;
        for (int w = 0; w < 8; w++) energy += sums[w][t];
        energies[32 * frame + t] = energy;
    }
}

extern "C" __global__ void __launch_bounds__(256) selective_scan(const float* __restrict__ inputs, const float* __restrict__ steps, const float* __restrict__ decay, const float* __restrict__ b, const float* __restrict__ c, float* __restrict__ outputs, int times, int channels) {
    int channel = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
    if (channel >= channels) return;
    inputs += (size_t)channel * times;
    steps += (size_t)channel * times;
    outputs += (size_t)channel * times;
    float a = decay[32 * channel + lane], state = 0, output = 0;
    for (int time = 0; time < times; time++) {
        float step = steps[time];
        state = expf(step * a) * state + step * b[32 * time + lane] * inputs[time];
        float sum = c[32 * time + lane] * state;
        for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
        if (time % 32 == lane) output = sum;
        if (time % 32 == 31) outputs[time - 31 + lane] = output;
    }
    if (lane < times % 32) outputs[times - times % 32 + lane] = output;
}

extern "C" __global__ void __launch_bounds__(128) itemset_support(const unsigned long long* __restrict__ bitmaps, int words, const unsigned short* __restrict__ sets, unsigned* __restrict__ support) {
    __shared__ unsigned totals[4];
    int t = threadIdx.x, items = 0;
    const unsigned long long* columns[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        int item = sets[4 * blockIdx.x + k];
        if (item != 0xffff) items = k + 1;
        columns[k] = bitmaps + (size_t)item * words;
    }
    unsigned count = 0;
    for (int i = t; i < words; i += blockDim.x) {
        unsigned long long word = ~0ull;
#pragma unroll
        for (int k = 0; k < 4; k++) if (k < items) word &= columns[k][i];
        count += __popcll(word);
    }
    count = __reduce_add_sync(~0u, count);
    if (t % 32 == 0) totals[t / 32] = count;
    __syncthreads();
    if (t == 0) support[blockIdx.x] = totals[0] + totals[1] + totals[2] + totals[3];
}

struct Account {
    unsigned long long balance;
    unsigned monthly_fee;
    unsigned short opened, currency;
};

extern "C" __global__ void __launch_bounds__(256) daily_interest(const Account* __restrict__ accounts, const unsigned long long* __restrict__ rates, int year, unsigned long long* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Account account = accounts[i];
    rates += account.currency * year * 4;
    unsigned long long balance = account.balance;
    for (int day = account.opened; day < year; day++) {
        int tier = (balance >= 1000000000ull) + (balance >= 10000000000ull) + (balance >= 50000000000ull);
        unsigned long long rate = rates[4 * day + tier];
        unsigned long long whole = __umul64hi(balance, rate), rest = balance * rate, half = 1ull << 63;
        balance += whole + (rest > half || (rest == half && (whole & 1)));
        if (day % 30 == 29 && tier == 0) {
            if (balance < account.monthly_fee) { balance = 0; break; }
            balance -= account.monthly_fee;
        }
    }
    to[i] = balance;
}
