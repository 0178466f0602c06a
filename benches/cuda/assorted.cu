// The nearest cities, similar vertices, strings, reactions, signals, particles, powers of
// matrices, and compressed images.

struct Place {
    float lat, lon;
};

__device__ float distance(Place a, Place b) {
    float dlat = b.lat - a.lat, dlon = b.lon - a.lon;
    float s = sinf(dlat * 0.5f), t = sinf(dlon * 0.5f);
    return s * s + cosf(a.lat) * cosf(b.lat) * t * t;
}

extern "C" __global__ __launch_bounds__(256)
void haversine(const Place* __restrict__ places, const Place* __restrict__ cities, int count,
               unsigned* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Place place = places[i];
    float best = INFINITY;
    unsigned nearest = UINT_MAX;
    for (int j = 0; j < count; j++) {
        float d = distance(place, cities[j]);
        if (d < best) {
            best = d;
            nearest = j;
        }
    }
    to[i] = nearest;
}

extern "C" __global__ __launch_bounds__(256)
void jaccard(const unsigned* __restrict__ starts, const unsigned* __restrict__ neighbors,
             const unsigned (*__restrict__ edges)[2], float* __restrict__ to, int n) {
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= n) return;
    unsigned u = edges[e][0], v = edges[e][1];
    unsigned i = starts[u], i_end = starts[u + 1], j = starts[v], j_end = starts[v + 1];
    unsigned total = i_end - i + j_end - j, common = 0;
    while (i < i_end && j < j_end) {
        unsigned a = neighbors[i], b = neighbors[j];
        if (a == b) {
            common++;
            i++;
            j++;
        } else if (a < b) {
            i++;
        } else {
            j++;
        }
    }
    to[e] = (float)common / (float)(total - common);
}

extern "C" __global__ __launch_bounds__(256)
void search(const unsigned char* __restrict__ text, int len,
            const unsigned char* __restrict__ pattern, int count, unsigned char* __restrict__ to,
            int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    bool equal = i + count <= len;
    if (equal) {
        for (int j = 0; j < count; j++) {
            if (text[i + j] != pattern[j]) {
                equal = false;
                break;
            }
        }
    }
    to[i] = equal;
}

extern "C" __global__ __launch_bounds__(256)
void grayscott(const float* __restrict__ u, const float* __restrict__ v, float feed, float kill,
               float* __restrict__ next_u, float* __restrict__ next_v, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    int left = (x + w - 1) % w, right = (x + 1) % w, up = (y + h - 1) % h, down = (y + 1) % h;
    float a = u[y * w + x], b = v[y * w + x];
    float lu = u[y * w + left] + u[y * w + right] + u[up * w + x] + u[down * w + x] - 4.0f * a;
    float lv = v[y * w + left] + v[y * w + right] + v[up * w + x] + v[down * w + x] - 4.0f * b;
    next_u[y * w + x] = a + 0.16f * lu - a * b * b + feed * (1.0f - a);
    next_v[y * w + x] = b + 0.08f * lv + a * b * b - (feed + kill) * b;
}

extern "C" __global__ __launch_bounds__(256)
void cfir(const float2* __restrict__ samples, const float2* __restrict__ taps, int count,
          float2* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float re = 0.0f, im = 0.0f;
    for (int k = 0; k < count; k++) {
        float2 s = samples[i + k], t = taps[k];
        re += s.x * t.x - s.y * t.y;
        im += s.x * t.y + s.y * t.x;
    }
    to[i] = make_float2(re, im);
}

struct Particle {
    float position[3], velocity[3], mass, charge;
};

extern "C" __global__ __launch_bounds__(256)
void particles(const float (*__restrict__ forces)[3], float dt, float size,
               Particle* __restrict__ particles, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Particle& p = particles[i];
    for (int d = 0; d < 3; d++) {
        float x = p.position[d], v = p.velocity[d];
        v += forces[i][d] / p.mass * dt;
        x += v * dt;
        if (x < 0.0f) {
            x = -x;
            v = -v;
        } else if (x > size) {
            x = 2.0f * size - x;
            v = -v;
        }
        p.position[d] = x;
        p.velocity[d] = v;
    }
}

struct Matrix {
    float m[4][4];
};

extern "C" __global__ __launch_bounds__(128)
void matpower(const Matrix* __restrict__ from, unsigned steps, Matrix* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Matrix m = from[i];
    for (unsigned s = 0; s < steps; s++) {
        Matrix next;
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++) {
                float sum = 0.0f;
#pragma unroll
                for (int k = 0; k < 4; k++) sum += m.m[i][k] * m.m[k][j];
                next.m[i][j] = sum;
            }
        m = next;
    }
    to[i] = m;
}

extern "C" __global__ __launch_bounds__(64)
void dxt(const uchar4* __restrict__ pixels, int width, uint2* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int blocks = width / 4, bx = i % blocks * 4, by = i / blocks * 4;
    uchar4 block[16];
    for (int y = 0; y < 4; y++) {
        for (int x = 0; x < 4; x++) block[y * 4 + x] = pixels[(by + y) * width + bx + x];
    }
    int l0 = 255, l1 = 255, l2 = 255, h0 = 0, h1 = 0, h2 = 0;
#pragma unroll
    for (int k = 0; k < 16; k++) {
        l0 = min(l0, (int)block[k].x);
        l1 = min(l1, (int)block[k].y);
        l2 = min(l2, (int)block[k].z);
        h0 = max(h0, (int)block[k].x);
        h1 = max(h1, (int)block[k].y);
        h2 = max(h2, (int)block[k].z);
    }
    unsigned high = h0 >> 3 << 11 | h1 >> 2 << 5 | h2 >> 3;
    unsigned low = l0 >> 3 << 11 | l1 >> 2 << 5 | l2 >> 3;
    int a0 = h0 - l0, a1 = h1 - l1, a2 = h2 - l2, length = max(a0 * a0 + a1 * a1 + a2 * a2, 1);
    unsigned bits = 0;
#pragma unroll
    for (int k = 0; k < 16; k++) {
        int dot = (block[k].x - l0) * a0 + (block[k].y - l1) * a1 + (block[k].z - l2) * a2;
        int step = (dot * 3 + length / 2) / length & 3;
        unsigned code = step == 0 ? 1 : step == 1 ? 3 : step == 2 ? 2 : 0;
        bits |= code << (2 * k);
    }
    to[i] = make_uint2(high | low << 16, bits);
}
