// More kernels in many styles: see benches/kernels/src/variety.rs.

#include <cuda_fp16.h>
#include <stdint.h>

// ---------------------------------------------------------------------------------------------
// fuzzy_score

static __device__ bool is_separator(unsigned char c) {
    return c == '/' || c == '_' || c == '-' || c == '.' || c == ' ';
}

static __device__ unsigned char to_lower(unsigned char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; }

extern "C" __global__ void fuzzy_score(const unsigned char* __restrict__ pattern, int pattern_len,
                                       const unsigned char* __restrict__ text,
                                       const unsigned* __restrict__ offsets, int* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned at = offsets[i], end = offsets[i + 1];
    int k = 0, score = 0, run = 0;
    unsigned char previous = '/';
    while (k < pattern_len && at < end) {
        unsigned char c = text[at];
        if (to_lower(c) == to_lower(pattern[k])) {
            run++;
            score += 16 + 4 * run;
            if (is_separator(previous)) score += 10;
            k++;
        } else {
            score--;
            run = 0;
        }
        previous = c;
        at++;
    }
    to[i] = k < pattern_len ? -1000 : score - (int)(end - at) / 4;
}

// ---------------------------------------------------------------------------------------------
// thin_film

static __device__ float2 operator+(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
static __device__ float2 operator-(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }
static __device__ float2 operator*(float2 a, float2 b) {
    return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}
static __device__ float2 operator*(float2 a, float f) { return make_float2(a.x * f, a.y * f); }
static __device__ float norm_squared(float2 a) { return a.x * a.x + a.y * a.y; }

extern "C" __global__ void thin_film(const float* __restrict__ indices, const float* __restrict__ thicknesses,
                                     int layers, const float* __restrict__ wavelengths, float substrate,
                                     float* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float wavelength = wavelengths[i];
    float2 m[2][2] = {{{1, 0}, {0, 0}}, {{0, 0}, {1, 0}}};
    for (int l = 0; l < layers; l++) {
        float index = indices[l];
        float phase = 6.28318530717958647692f * index * thicknesses[l] / wavelength;
        float s, c;
        sincosf(phase, &s, &c);
        float2 t[2][2] = {{{c, 0}, {0, s / index}}, {{0, s * index}, {c, 0}}};
        float2 p[2][2];
        for (int r = 0; r < 2; r++)
            for (int k = 0; k < 2; k++) p[r][k] = m[r][0] * t[0][k] + m[r][1] * t[1][k];
        for (int r = 0; r < 2; r++)
            for (int k = 0; k < 2; k++) m[r][k] = p[r][k];
    }
    float2 field = m[0][0] + m[0][1] * substrate;
    float2 current = m[1][0] + m[1][1] * substrate;
    to[i] = norm_squared(field - current) / norm_squared(field + current);
}

// ---------------------------------------------------------------------------------------------
// queue_waits

extern "C" __global__ __launch_bounds__(256) void queue_waits(const float* __restrict__ loads,
                                                              float* __restrict__ waits, int width) {
    __shared__ float warp_shift[8], warp_floor[8];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    loads += (size_t)blockIdx.x * width;
    waits += (size_t)blockIdx.x * width;
    float carry = 0;
    for (int start = 0; start < width; start += 256) {
        int x = start + threadIdx.x;
        float shift = x < width ? loads[x] : 0.0f, floor = 0;
        for (int d = 1; d < 32; d *= 2) {
            float s = __shfl_up_sync(~0u, shift, d);
            float f = __shfl_up_sync(~0u, floor, d);
            if (lane >= d) {
                floor = fmaxf(floor, f + shift);
                shift += s;
            }
        }
        if (lane == 31) {
            warp_shift[warp] = shift;
            warp_floor[warp] = floor;
        }
        __syncthreads();
        float wait = carry;
        for (int w = 0; w < 8; w++) {
            if (w == warp && x < width) waits[x] = fmaxf(floor, wait + shift);
            wait = fmaxf(warp_floor[w], wait + warp_shift[w]);
        }
        carry = wait;
        __syncthreads();
    }
}

// ---------------------------------------------------------------------------------------------
// quadrupole

extern "C" __global__ __launch_bounds__(256) void quadrupole(const float* __restrict__ x,
                                                             const float* __restrict__ y,
                                                             const float* __restrict__ z,
                                                             const float* __restrict__ mass, int n,
                                                             float* __restrict__ to) {
    __shared__ float sums[8][10];
    float m[10] = {};
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float px = x[i], py = y[i], pz = z[i], w = mass[i];
        m[0] += w;
        m[1] += w * px;
        m[2] += w * py;
        m[3] += w * pz;
        m[4] += w * (px * px);
        m[5] += w * (py * py);
        m[6] += w * (pz * pz);
        m[7] += w * (px * py);
        m[8] += w * (px * pz);
        m[9] += w * (py * pz);
    }
    int t = threadIdx.x;
    for (int k = 0; k < 10; k++) {
        for (int d = 16; d > 0; d /= 2) m[k] += __shfl_xor_sync(~0u, m[k], d);
        if (t % 32 == 0) sums[t / 32][k] = m[k];
    }
    __syncthreads();
    if (t < 10) {
        float sum = 0;
        for (int w = 0; w < 8; w++) sum += sums[w][t];
        to[blockIdx.x * 10 + t] = sum;
    }
}

// ---------------------------------------------------------------------------------------------
// iban_check

extern "C" __global__ void iban_check(const unsigned char* __restrict__ records,
                                      unsigned char* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned char* record = records + i * 34;
    int len = 34;
    while (len > 0 && record[len - 1] == ' ') len--;
    unsigned char verdict = 0;
    if (len > 4 && record[0] >= 'A' && record[0] <= 'Z' && record[1] >= 'A' && record[1] <= 'Z') {
        unsigned remainder = 0;
        bool valid = true;
        for (int k = 0; k < len; k++) {
            unsigned char c = record[k + 4 < len ? k + 4 : k + 4 - len];
            if (c >= '0' && c <= '9') {
                remainder = (remainder * 10 + (c - '0')) % 97;
            } else if (c >= 'A' && c <= 'Z') {
                remainder = (remainder * 100 + (c - 'A') + 10) % 97;
            } else {
                valid = false;
                break;
            }
        }
        if (valid) verdict = remainder == 1 ? 2 : 1;
    }
    to[i] = verdict;
}

// ---------------------------------------------------------------------------------------------
// fixed_pendulum

static __device__ long long mul_q32(long long a, long long b) { return (long long)(((__int128)a * b) >> 32); }

extern "C" __global__ void fixed_pendulum(const long long* __restrict__ angles,
                                          const long long* __restrict__ gravities, long long dt, int steps,
                                          long long* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const long long one = 1LL << 32;
    long long angle = angles[i], gravity = gravities[i], speed = 0;
    for (int s = 0; s < steps; s++) {
        long long square = mul_q32(angle, angle);
        long long sum = -one / 5040;
        sum = mul_q32(sum, square) + one / 120;
        sum = mul_q32(sum, square) - one / 6;
        sum = mul_q32(sum, square) + one;
        speed -= mul_q32(mul_q32(gravity, mul_q32(angle, sum)), dt);
        angle += mul_q32(speed, dt);
    }
    to[i] = angle;
}

// ---------------------------------------------------------------------------------------------
// levinson

#define ORDER 10

extern "C" __global__ void levinson(const double* __restrict__ correlations, double* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double r[ORDER + 1], a[ORDER] = {};
#pragma unroll
    for (int k = 0; k <= ORDER; k++) r[k] = correlations[i * (ORDER + 1) + k];
    double error = r[0];
    bool valid = true;
#pragma unroll
    for (int k = 0; k < ORDER; k++) {
        if (error <= 0) {
            valid = false;
            break;
        }
        double sum = r[k + 1];
#pragma unroll
        for (int j = 0; j < k; j++) sum += a[j] * r[k - j];
        double reflection = -sum / error;
        double previous[ORDER];
#pragma unroll
        for (int j = 0; j < k; j++) previous[j] = a[j];
#pragma unroll
        for (int j = 0; j < k; j++) a[j] = previous[j] + reflection * previous[k - 1 - j];
        a[k] = reflection;
        error *= 1 - reflection * reflection;
    }
#pragma unroll
    for (int k = 0; k < ORDER; k++) to[i * ORDER + k] = valid ? a[k] : 0.0;
}

// ---------------------------------------------------------------------------------------------
// vincenty

extern "C" __global__ void vincenty(const double* __restrict__ latitudes, const double* __restrict__ longitudes,
                                    double* __restrict__ to, int n) {
    const double EQUATORIAL = 6378137.0, F = 1.0 / 298.257223563, POLAR = EQUATORIAL * (1.0 - F);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double sin1, cos1, sin2, cos2;
    sincos(atan((1.0 - F) * tan(latitudes[2 * i])), &sin1, &cos1);
    sincos(atan((1.0 - F) * tan(latitudes[2 * i + 1])), &sin2, &cos2);
    double difference = longitudes[2 * i + 1] - longitudes[2 * i];
    double lambda = difference, distance = NAN;
    for (int k = 0; k < 40; k++) {
        double sin_lambda, cos_lambda;
        sincos(lambda, &sin_lambda, &cos_lambda);
        double sin_sigma = hypot(cos2 * sin_lambda, cos1 * sin2 - sin1 * cos2 * cos_lambda);
        if (sin_sigma == 0.0) {
            distance = 0.0;
            break;
        }
        double cos_sigma = sin1 * sin2 + cos1 * cos2 * cos_lambda;
        double sigma = atan2(sin_sigma, cos_sigma);
        double sin_alpha = cos1 * cos2 * sin_lambda / sin_sigma;
        double cos2_alpha = 1.0 - sin_alpha * sin_alpha;
        double cos_2m = cos2_alpha == 0.0 ? 0.0 : cos_sigma - 2.0 * sin1 * sin2 / cos2_alpha;
        double c = F / 16.0 * cos2_alpha * (4.0 + F * (4.0 - 3.0 * cos2_alpha));
        double square = 2.0 * cos_2m * cos_2m - 1.0;
        double inner = cos_2m + c * cos_sigma * square;
        double next = difference + (1.0 - c) * F * sin_alpha * (sigma + c * sin_sigma * inner);
        double change = fabs(next - lambda);
        lambda = next;
        if (change < 1e-11) {
            double u2 = cos2_alpha * (EQUATORIAL * EQUATORIAL / (POLAR * POLAR) - 1.0);
            double a = 1.0 + u2 / 16384.0 * (4096.0 + u2 * (-768.0 + u2 * (320.0 - 175.0 * u2)));
            double b = u2 / 1024.0 * (256.0 + u2 * (-128.0 + u2 * (74.0 - 47.0 * u2)));
            double last = b / 6.0 * cos_2m * (4.0 * sin_sigma * sin_sigma - 3.0) * (2.0 * square - 1.0);
            double delta = b * sin_sigma * (cos_2m + b / 4.0 * (cos_sigma * square - last));
            distance = POLAR * a * (sigma - delta);
            break;
        }
    }
    to[i] = distance;
}

// ---------------------------------------------------------------------------------------------
// polar_rotation

extern "C" __global__ void polar_rotation(const float* __restrict__ deformations, float* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x[9];
    for (int k = 0; k < 9; k++) x[k] = deformations[9 * i + k];
    for (int step = 0; step < 20; step++) {
        float c[9] = {
            x[4] * x[8] - x[5] * x[7], x[5] * x[6] - x[3] * x[8], x[3] * x[7] - x[4] * x[6],
            x[7] * x[2] - x[8] * x[1], x[8] * x[0] - x[6] * x[2], x[6] * x[1] - x[7] * x[0],
            x[1] * x[5] - x[2] * x[4], x[2] * x[3] - x[0] * x[5], x[0] * x[4] - x[1] * x[3],
        };
        float determinant = x[0] * c[0] + x[1] * c[1] + x[2] * c[2];
        if (!(fabsf(determinant) > 1e-12f)) {
            for (int k = 0; k < 9; k++) x[k] = 0;
            break;
        }
        float factor = 1.0f / determinant, change = 0;
        for (int k = 0; k < 9; k++) {
            float next = 0.5f * (x[k] + factor * c[k]);
            change += (next - x[k]) * (next - x[k]);
            x[k] = next;
        }
        if (change < 1e-9f) break;
    }
    for (int k = 0; k < 9; k++) to[9 * i + k] = x[k];
}

// ---------------------------------------------------------------------------------------------
// dyn_quantile

static __device__ float normal_quantile(float p) {
    float tail = fminf(p, 1.0f - p);
    float t = sqrtf(-2.0f * logf(tail));
    float z = t - ((0.010328f * t + 0.802853f) * t + 2.515517f) /
                      (((0.001308f * t + 0.189269f) * t + 1.432788f) * t + 1.0f);
    return p < 0.5f ? -z : z;
}

extern "C" __global__ void dyn_quantile(const unsigned char* __restrict__ kinds,
                                        const float2* __restrict__ parameters, int strata,
                                        float* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int kind = kinds[i];
    float a = parameters[i].x, b = parameters[i].y;
    float sum = 0;
    for (int k = 0; k < strata; k++) {
        float p = (k + 0.5f) / strata;
        switch (kind) {
            case 0: sum += -logf(1.0f - p) / a; break;
            case 1: sum += a + b * logf(p / (1.0f - p)); break;
            case 2: sum += b * powf(-logf(1.0f - p), 1.0f / a); break;
            default: sum += a + b * normal_quantile(p);
        }
    }
    to[i] = sum / strata;
}

// ---------------------------------------------------------------------------------------------
// blend_layers

static __device__ int mul255(int a, int b) {
    int product = a * b + 128;
    return (product + (product >> 8)) >> 8;
}

static __device__ unsigned char blend_channel(int blend, int below, int above, int alpha) {
    int mixed;
    switch (blend) {
        case 0: mixed = above; break;
        case 1: mixed = mul255(below, above); break;
        case 2: mixed = 255 - mul255(255 - below, 255 - above); break;
        case 3:
            mixed = below < 128 ? mul255(2 * below, above) : 255 - mul255(2 * (255 - below), 255 - above);
            break;
        case 4: mixed = abs(below - above); break;
        default: mixed = max(below, above);
    }
    return min(mul255(below, 255 - alpha) + mul255(mixed, alpha), 255);
}

extern "C" __global__ void blend_layers(const uchar4* __restrict__ layers,
                                        const unsigned char* __restrict__ blends,
                                        const unsigned char* __restrict__ opacities, int count,
                                        uchar4* __restrict__ to, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int i = y * width + x;
    uchar4 pixel = make_uchar4(255, 255, 255, 255);
    for (int l = 0; l < count; l++) {
        uchar4 above = layers[l * width * height + i];
        int blend = blends[l];
        if (blend > 5) continue;
        int alpha = mul255(above.w, opacities[l]);
        pixel.x = blend_channel(blend, pixel.x, above.x, alpha);
        pixel.y = blend_channel(blend, pixel.y, above.y, alpha);
        pixel.z = blend_channel(blend, pixel.z, above.z, alpha);
    }
    to[i] = pixel;
}

// ---------------------------------------------------------------------------------------------
// local_peaks3d

static __device__ bool is_peak(const float* __restrict__ volume, float threshold, int x, int y, int z, int width,
                               int height, int depth) {
    float here = volume[(z * height + y) * width + x];
    if (here <= threshold) return false;
    for (int nz = max(z - 1, 0); nz <= min(z + 1, depth - 1); nz++)
        for (int ny = max(y - 1, 0); ny <= min(y + 1, height - 1); ny++)
            for (int nx = max(x - 1, 0); nx <= min(x + 1, width - 1); nx++) {
                if (nx == x && ny == y && nz == z) continue;
                if (!(volume[(nz * height + ny) * width + nx] < here)) return false;
            }
    return true;
}

extern "C" __global__ __launch_bounds__(256) void local_peaks3d(const float* __restrict__ volume,
                                                                float threshold,
                                                                unsigned char* __restrict__ to, int width,
                                                                int height, int depth) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= width || y >= height || z >= depth) return;
    to[(z * height + y) * width + x] = is_peak(volume, threshold, x, y, z, width, height, depth);
}

// ---------------------------------------------------------------------------------------------
// allen_cahn3d

extern "C" __global__ __launch_bounds__(256) void allen_cahn3d(const float* __restrict__ phase, float dt,
                                                               float width, float* __restrict__ to, int nx,
                                                               int ny, int nz) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny) return;
    int xs[3] = {x == 0 ? nx - 1 : x - 1, x, x + 1 == nx ? 0 : x + 1};
    int ys[3] = {y == 0 ? ny - 1 : y - 1, y, y + 1 == ny ? 0 : y + 1};
    for (int z = 0; z < nz; z++) {
        int zs[3] = {z == 0 ? nz - 1 : z - 1, z, z + 1 == nz ? 0 : z + 1};
        int at = (z * ny + y) * nx + x;
        float u = phase[at], sum = -4.0f * u;
#pragma unroll
        for (int k = 0; k < 3; k++)
#pragma unroll
            for (int j = 0; j < 3; j++)
#pragma unroll
                for (int i = 0; i < 3; i++) {
                    int distance = (i != 1) + (j != 1) + (k != 1);
                    if (distance == 1 || distance == 2) {
                        float weight = distance == 1 ? 1.0f / 3.0f : 1.0f / 6.0f;
                        sum += weight * phase[(zs[k] * ny + ys[j]) * nx + xs[i]];
                    }
                }
        to[at] = u + dt * (width * sum + u - u * u * u);
    }
}

// ---------------------------------------------------------------------------------------------
// image_charges

extern "C" __global__ void image_charges(const float4* __restrict__ charges, int count, float cell,
                                         float cutoff, const float* __restrict__ points,
                                         float* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float px = points[3 * i], py = points[3 * i + 1], pz = points[3 * i + 2];
    float sum = 0;
    for (int ix = -1; ix <= 1; ix++)
        for (int iy = -1; iy <= 1; iy++)
            for (int iz = -1; iz <= 1; iz++)
                for (int k = 0; k < count; k++) {
                    float4 c = charges[k];
                    float dx = c.x + ix * cell - px, dy = c.y + iy * cell - py, dz = c.z + iz * cell - pz;
                    float distance = dx * dx + dy * dy + dz * dz;
                    if (distance < cutoff * cutoff) sum += c.w * (rsqrtf(distance + 1e-4f) - 1.0f / cutoff);
                }
    to[i] = sum;
}

// ---------------------------------------------------------------------------------------------
// kummer

extern "C" __global__ void kummer(const double* __restrict__ as, const double* __restrict__ bs,
                                  const double* __restrict__ xs, double* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double a = as[i], b = bs[i], x = xs[i], sum = 0, term = 1;
    for (int k = 0; k < 1000; k++) {
        if (fabs(term) <= 1e-15) break;
        sum += term;
        term *= (a + k) / (b + k) * x / (k + 1.0);
    }
    to[i] = sum;
}

// ---------------------------------------------------------------------------------------------
// ordinal_patterns

extern "C" __global__ __launch_bounds__(128) void ordinal_patterns(const unsigned short* __restrict__ samples,
                                                                   int len, float* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned short* series = samples + (size_t)i * len;
    int counts[24] = {};
    for (int k = 0; k < len - 3; k++) {
        unsigned short a = series[k], b = series[k + 1], c = series[k + 2], d = series[k + 3];
        int first = (b < a) + (c < a) + (d < a);
        int second = (c < b) + (d < b);
        counts[(first * 3 + second) * 2 + (d < c)]++;
    }
    float entropy = 0;
    for (int k = 0; k < 24; k++)
        if (counts[k] > 0) {
            float p = (float)counts[k] / (len - 3);
            entropy -= p * logf(p);
        }
    to[i] = entropy;
}

// ---------------------------------------------------------------------------------------------
// interval_overlap

extern "C" __global__ void interval_overlap(const long long* __restrict__ starts,
                                            const long long* __restrict__ ends,
                                            const unsigned* __restrict__ offsets,
                                            const uint2* __restrict__ pairs, long long* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint2 pair = pairs[i];
    unsigned a = offsets[pair.x], a_end = offsets[pair.x + 1];
    unsigned b = offsets[pair.y], b_end = offsets[pair.y + 1];
    long long total = 0;
    while (a < a_end && b < b_end) {
        long long first = ends[a], second = ends[b];
        long long shared = min(first, second) - max(starts[a], starts[b]);
        if (shared > 0) total += shared;
        if (first <= second)
            a++;
        else
            b++;
    }
    to[i] = total;
}

// ---------------------------------------------------------------------------------------------
// aliquot

extern "C" __global__ __launch_bounds__(256) void aliquot(unsigned first, unsigned* __restrict__ to, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned number = first + i, sum = number >= 2;
        for (unsigned d = 2; d * d <= number; d++) {
            if (number % d == 0) {
                sum += d;
                if (number / d != d) sum += number / d;
            }
        }
        to[i] = sum;
    }
}

// ---------------------------------------------------------------------------------------------
// sessionize

extern "C" __global__ __launch_bounds__(256) void sessionize(const long long* __restrict__ times,
                                                             long long limit, unsigned* __restrict__ sessions,
                                                             int width) {
    __shared__ unsigned counts[8];
    times += (size_t)blockIdx.x * width;
    sessions += (size_t)blockIdx.x * width;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned so_far = 0;
    for (int start = 0; start < width; start += 256) {
        int i = start + threadIdx.x;
        bool begins = i > 0 && i < width && times[i] - times[i - 1] > limit;
        unsigned ballot = __ballot_sync(~0u, begins);
        if (lane == 0) counts[warp] = __popc(ballot);
        __syncthreads();
        unsigned number = so_far + __popc(ballot & (~0u >> (31 - lane)));
        for (int w = 0; w < 8; w++) {
            if (w < warp) number += counts[w];
            so_far += counts[w];
        }
        if (i < width) sessions[i] = number;
        __syncthreads();
    }
}

// ---------------------------------------------------------------------------------------------
// ransac_line

#define SET 512

static __device__ int pick(unsigned set, unsigned draw) {
    unsigned x = set * 0x9e3779b9u ^ draw * 0x85ebca6bu;
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    return x % SET;
}

extern "C" __global__ __launch_bounds__(256) void ransac_line(const float2* __restrict__ points,
                                                              float tolerance, float4* __restrict__ to) {
    __shared__ float2 shared[SET];
    __shared__ unsigned keys[8];
    unsigned set = blockIdx.x, t = threadIdx.x;
    for (int k = t; k < SET; k += 256) shared[k] = points[set * SET + k];
    __syncthreads();
    float2 p = shared[pick(set, 2 * t)], q = shared[pick(set, 2 * t + 1)];
    float dx = q.x - p.x, dy = q.y - p.y;
    float length = sqrtf(dx * dx + dy * dy);
    float a = 0, b = 0, c = 0;
    unsigned inliers = 0;
    if (length >= 1e-6f) {
        a = -dy / length;
        b = dx / length;
        c = -(a * p.x + b * p.y);
        for (int k = 0; k < SET; k++) {
            float2 v = shared[k];
            if (fabsf(a * v.x + b * v.y + c) < tolerance) inliers++;
        }
    }
    unsigned key = inliers << 8 | (255 - t);
    unsigned best = __reduce_max_sync(~0u, key);
    if (t % 32 == 0) keys[t / 32] = best;
    __syncthreads();
    for (int w = 0; w < 8; w++) best = max(best, keys[w]);
    if (key == best) to[set] = make_float4(a, b, c, inliers);
}

// ---------------------------------------------------------------------------------------------
// hausdorff

extern "C" __global__ __launch_bounds__(256) void hausdorff(const float* __restrict__ from, int from_len,
                                                            const float* __restrict__ to, int to_len,
                                                            float* __restrict__ distances) {
    __shared__ float3 tile[256];
    __shared__ float maxima[8];
    int t = threadIdx.x, pair = blockIdx.x;
    float3 own = make_float3(0, 0, 0);
    if (t < from_len) {
        const float* p = from + 3 * (pair * from_len + t);
        own = make_float3(p[0], p[1], p[2]);
    }
    float nearest = INFINITY;
    for (int start = 0; start < to_len; start += 256) {
        if (start + t < to_len) {
            const float* p = to + 3 * (pair * to_len + start + t);
            tile[t] = make_float3(p[0], p[1], p[2]);
        } else {
            tile[t] = make_float3(INFINITY, INFINITY, INFINITY);
        }
        __syncthreads();
        for (int k = 0; k < 256; k++) {
            float dx = tile[k].x - own.x, dy = tile[k].y - own.y, dz = tile[k].z - own.z;
            nearest = fminf(nearest, dx * dx + dy * dy + dz * dz);
        }
        __syncthreads();
    }
    if (t >= from_len) nearest = 0;
    for (int d = 16; d > 0; d /= 2) nearest = fmaxf(nearest, __shfl_xor_sync(~0u, nearest, d));
    if (t % 32 == 0) maxima[t / 32] = nearest;
    __syncthreads();
    if (t == 0) {
        for (int w = 1; w < 8; w++) nearest = fmaxf(nearest, maxima[w]);
        distances[pair] = sqrtf(nearest);
    }
}

// ---------------------------------------------------------------------------------------------
// ssim_blocks

extern "C" __global__ __launch_bounds__(256) void ssim_blocks(const unsigned* __restrict__ first,
                                                              const unsigned* __restrict__ second, int width,
                                                              float* __restrict__ to, int n) {
    int number = (blockIdx.x * blockDim.x + threadIdx.x) / 16, lane = threadIdx.x % 32;
    unsigned a = 0, b = 0, squares = 0, product = 0;
    if (number < n) {
        int x = number % (width / 8), y = number / (width / 8);
        int at = (8 * y + lane % 16 / 2) * (width / 4) + 2 * x + lane % 2;
        unsigned p = first[at], q = second[at];
        for (int k = 0; k < 4; k++) {
            unsigned u = p >> (8 * k) & 255, v = q >> (8 * k) & 255;
            a += u;
            b += v;
            squares += u * u + v * v;
            product += u * v;
        }
    }
    for (int d = 8; d > 0; d /= 2) {
        a += __shfl_xor_sync(~0u, a, d);
        b += __shfl_xor_sync(~0u, b, d);
        squares += __shfl_xor_sync(~0u, squares, d);
        product += __shfl_xor_sync(~0u, product, d);
    }
    if (number < n && lane % 16 == 0) {
        float ma = a / 64.0f, mb = b / 64.0f, ms = squares / 64.0f, mp = product / 64.0f;
        float c1 = 6.5025f, c2 = 58.5225f;
        float covariance = mp - ma * mb, variances = ms - ma * ma - mb * mb;
        to[number] = (2.0f * ma * mb + c1) * (2.0f * covariance + c2) /
                     ((ma * ma + mb * mb + c1) * (variances + c2));
    }
}

// ---------------------------------------------------------------------------------------------
// benford

extern "C" __global__ __launch_bounds__(256) void benford(const unsigned long long* __restrict__ numbers, int n,
                                                          unsigned* __restrict__ total) {
    __shared__ unsigned counts[10];
    if (threadIdx.x < 10) counts[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned long long number = numbers[i];
        while (number >= 10) number /= 10;
        atomicAdd(&counts[number], 1u);
    }
    __syncthreads();
    if (threadIdx.x < 10) atomicAdd(&total[threadIdx.x], counts[threadIdx.x]);
}

// ---------------------------------------------------------------------------------------------
// nl_means

extern "C" __global__ __launch_bounds__(256) void nl_means(const unsigned char* __restrict__ from,
                                                           float strength, unsigned char* __restrict__ to,
                                                           int width, int height) {
    __shared__ unsigned char tile[22][22];
    int tx = threadIdx.x, ty = threadIdx.y, x0 = blockIdx.x * 16, y0 = blockIdx.y * 16;
    for (int y = ty; y < 22; y += 16)
        for (int x = tx; x < 22; x += 16) {
            int gx = min(max(x0 + x - 3, 0), width - 1), gy = min(max(y0 + y - 3, 0), height - 1);
            tile[y][x] = from[gy * width + gx];
        }
    __syncthreads();
    if (x0 + tx >= width || y0 + ty >= height) return;
    float sum = 0, weights = 0;
    for (int dy = 0; dy < 5; dy++)
        for (int dx = 0; dx < 5; dx++) {
            int difference = 0;
            for (int py = 0; py < 3; py++)
                for (int px = 0; px < 3; px++) {
                    int d = tile[ty + 2 + py][tx + 2 + px] - tile[ty + dy + py][tx + dx + px];
                    difference += d * d;
                }
            float weight = expf(-strength * difference);
            weights += weight;
            sum += weight * tile[ty + dy + 1][tx + dx + 1];
        }
    to[(y0 + ty) * width + x0 + tx] = (unsigned char)(sum / weights + 0.5f);
}

// ---------------------------------------------------------------------------------------------
// rank_transform

#define GROUP 512

extern "C" __global__ __launch_bounds__(256) void rank_transform(const float* __restrict__ keys,
                                                                 float* __restrict__ ranks, int n) {
    __shared__ float shared[GROUP];
    int start = blockIdx.x * GROUP;
    for (int i = threadIdx.x; i < GROUP; i += 256) shared[i] = start + i < n ? keys[start + i] : NAN;
    __syncthreads();
    for (int i = threadIdx.x; i < GROUP; i += 256) {
        if (start + i >= n) break;
        float own = shared[i];
        int less = 0, equal = 0;
        for (int k = 0; k < GROUP; k++) {
            float key = shared[k];
            less += key < own;
            equal += key == own;
        }
        ranks[start + i] = less + (equal + 1.0f) / 2.0f;
    }
}

// ---------------------------------------------------------------------------------------------
// simhash

static __device__ unsigned long long word_hash(unsigned word) {
    unsigned long long x = word + 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

extern "C" __global__ __launch_bounds__(256) void simhash(const unsigned* __restrict__ words,
                                                          const unsigned* __restrict__ offsets,
                                                          unsigned long long* __restrict__ to, int n) {
    int document = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (document >= n) return;
    unsigned start = offsets[document], end = offsets[document + 1];
    int low = 0, high = 0;
    for (; start < end; start += 32) {
        unsigned long long own = start + lane < end ? word_hash(words[start + lane]) : 0;
        int count = min(end - start, 32u);
        for (int k = 0; k < count; k++) {
            unsigned long long hash = __shfl_sync(~0u, own, k);
            low += hash >> lane & 1 ? 1 : -1;
            high += hash >> (lane + 32) & 1 ? 1 : -1;
        }
    }
    unsigned low_bits = __ballot_sync(~0u, low > 0), high_bits = __ballot_sync(~0u, high > 0);
    if (lane == 0) to[document] = (unsigned long long)high_bits << 32 | low_bits;
}

// ---------------------------------------------------------------------------------------------
// ldpc_minsum

#define BITS 512
#define CHECKS 256
#define DEGREE 6

extern "C" __global__ __launch_bounds__(256) void ldpc_minsum(const float* __restrict__ received,
                                                              const unsigned short* __restrict__ bits_of_check,
                                                              const unsigned short* __restrict__ edges_of_bit,
                                                              int rounds, unsigned char* __restrict__ decoded) {
    __shared__ float beliefs[BITS], messages[CHECKS * DEGREE];
    int t = threadIdx.x;
    received += (size_t)blockIdx.x * BITS;
    decoded += (size_t)blockIdx.x * BITS;
    for (int bit = t; bit < BITS; bit += 256) beliefs[bit] = received[bit];
    for (int k = 0; k < DEGREE; k++) messages[t * DEGREE + k] = 0;
    __syncthreads();
    for (int round = 0; round < rounds; round++) {
        float opinions[DEGREE], least = INFINITY, second = INFINITY;
        bool negative = false;
        for (int k = 0; k < DEGREE; k++) {
            float opinion = beliefs[bits_of_check[t * DEGREE + k]] - messages[t * DEGREE + k];
            opinions[k] = opinion;
            negative ^= opinion < 0;
            float magnitude = fabsf(opinion);
            if (magnitude < least) {
                second = least;
                least = magnitude;
            } else {
                second = fminf(second, magnitude);
            }
        }
        for (int k = 0; k < DEGREE; k++) {
            float magnitude = 0.75f * (fabsf(opinions[k]) == least ? second : least);
            messages[t * DEGREE + k] = negative != (opinions[k] < 0) ? -magnitude : magnitude;
        }
        __syncthreads();
        for (int bit = t; bit < BITS; bit += 256) {
            float sum = received[bit];
            for (int k = 0; k < 3; k++) sum += messages[edges_of_bit[3 * bit + k]];
            beliefs[bit] = sum;
        }
        __syncthreads();
    }
    for (int bit = t; bit < BITS; bit += 256) decoded[bit] = beliefs[bit] < 0;
}

// ---------------------------------------------------------------------------------------------
// amdf_pitch

#define COMPARED 512
#define FIRST_LAG 32
#define HOP 256
#define FRAME (COMPARED + FIRST_LAG + 128)

extern "C" __global__ __launch_bounds__(128) void amdf_pitch(const short* __restrict__ signal,
                                                             unsigned short* __restrict__ to) {
    __shared__ short frame[FRAME];
    __shared__ unsigned differences[4], lags[4];
    int t = threadIdx.x;
    signal += blockIdx.x * HOP;
    for (int i = t; i < FRAME; i += 128) frame[i] = signal[i];
    __syncthreads();
    unsigned lag = FIRST_LAG + t, difference = 0;
    for (int i = 0; i < COMPARED; i++) difference += abs(frame[i] - frame[i + lag]);
    for (int d = 16; d > 0; d /= 2) {
        unsigned other = __shfl_xor_sync(~0u, difference, d), other_lag = __shfl_xor_sync(~0u, lag, d);
        if (other < difference || (other == difference && other_lag < lag)) {
            difference = other;
            lag = other_lag;
        }
    }
    if (t % 32 == 0) {
        differences[t / 32] = difference;
        lags[t / 32] = lag;
    }
    __syncthreads();
    if (t == 0) {
        for (int w = 1; w < 4; w++)
            if (differences[w] < difference) {
                difference = differences[w];
                lag = lags[w];
            }
        to[blockIdx.x] = lag;
    }
}

// ---------------------------------------------------------------------------------------------
// hashgrid_f16

#define FEATURES (1 << 15)
#define LEVELS 8

extern "C" __global__ void hashgrid_f16(const __half2* __restrict__ table, const float* __restrict__ points,
                                        float growth, __half2* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float px = points[3 * i], py = points[3 * i + 1], pz = points[3 * i + 2], resolution = 16;
    for (int level = 0; level < LEVELS; level++) {
        float x = px * resolution, y = py * resolution, z = pz * resolution;
        float fx = x - floorf(x), fy = y - floorf(y), fz = z - floorf(z);
        unsigned ix = (unsigned)x, iy = (unsigned)y, iz = (unsigned)z;
        __half2 sum = __float2half2_rn(0);
#pragma unroll
        for (int corner = 0; corner < 8; corner++) {
            unsigned ux = corner & 1, uy = corner >> 1 & 1, uz = corner >> 2 & 1;
            float weight = (ux ? fx : 1 - fx) * (uy ? fy : 1 - fy) * (uz ? fz : 1 - fz);
            unsigned hash = (ix + ux) ^ (iy + uy) * 2654435761u ^ (iz + uz) * 805459861u;
            sum = __hfma2(__float2half2_rn(weight), table[level * FEATURES + hash % FEATURES], sum);
        }
        to[i * LEVELS + level] = sum;
        resolution *= growth;
    }
}

// ---------------------------------------------------------------------------------------------
// roman_sum

static __device__ int numeral(unsigned char c) {
    switch (c) {
        case 'I': return 1;
        case 'V': return 5;
        case 'X': return 10;
        case 'L': return 50;
        case 'C': return 100;
        case 'D': return 500;
        case 'M': return 1000;
        default: return 0;
    }
}

extern "C" __global__ void roman_sum(const unsigned char* __restrict__ records, int* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned char* record = records + 16 * i;
    int total = 0;
    for (int k = 0; k < 16 && record[k] != ' '; k++) {
        int value = numeral(record[k]);
        if (value == 0) {
            total = 0;
            break;
        }
        int next = k + 1 < 16 ? numeral(record[k + 1]) : 0;
        total += next > value ? -value : value;
    }
    to[i] = total > 0 ? total : -1;
}

// ---------------------------------------------------------------------------------------------
// mod_inverse

extern "C" __global__ void mod_inverse(const long long* __restrict__ numbers,
                                       const long long* __restrict__ moduli, long long* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    long long modulus = moduli[i], a = numbers[i], b = modulus, x = 1, y = 0;
    while (b != 0) {
        long long quotient = a / b, rest = a - quotient * b;
        a = b;
        b = rest;
        rest = x - quotient * y;
        x = y;
        y = rest;
    }
    to[i] = a != 1 ? 0 : x < 0 ? x + modulus : x;
}

// ---------------------------------------------------------------------------------------------
// sir_paths

extern "C" __global__ void sir_paths(const float* __restrict__ contacts, const float* __restrict__ recoveries,
                                     int steps_per_day, float* __restrict__ days, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= width) return;
    float dt = 1.0f / steps_per_day, contact = contacts[x], recovery = recoveries[x];
    float s = 0.999f, i = 0.001f;
    for (int y = 0; y < height; y++) {
        for (int k = 0; k < steps_per_day; k++) {
            float infections = contact * s * i;
            float s_middle = s - dt / 2.0f * infections;
            float i_middle = i + dt / 2.0f * (infections - recovery * i);
            infections = contact * s_middle * i_middle;
            s -= dt * infections;
            i += dt * (infections - recovery * i_middle);
        }
        days[y * width + x] = i;
    }
}

// ---------------------------------------------------------------------------------------------
// underwater

extern "C" __global__ __launch_bounds__(256) void underwater(const float* __restrict__ prices,
                                                             float* __restrict__ to, int width, int height) {
    int y = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (y >= height) return;
    float highest = -INFINITY;
    for (int start = 0; start < width; start += 32) {
        int x = start + lane;
        float price = x < width ? prices[y * width + x] : -INFINITY;
        float so_far = fmaxf(price, highest);
        for (int d = 1; d < 32; d *= 2) {
            float before = __shfl_up_sync(~0u, so_far, d);
            if (lane >= d) so_far = fmaxf(so_far, before);
        }
        if (x < width) to[y * width + x] = price / so_far - 1.0f;
        highest = __shfl_sync(~0u, so_far, 31);
    }
}
