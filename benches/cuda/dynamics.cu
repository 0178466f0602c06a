// Dynamics: systems of ordinary differential equations, principal stresses, advection, and rigid
// bodies.

__device__ __forceinline__ float3 growth(float3 state, float rate) {
    float plants = state.x, prey = state.y, predators = state.z;
    float eaten = 5.0f * plants / (1.0f + 3.0f * plants) * prey;
    float hunted = 0.1f * prey / (1.0f + 2.0f * prey) * predators;
    return make_float3(rate * plants * (1.0f - plants) - eaten, eaten - hunted - 0.4f * prey,
                       hunted - 0.01f * predators);
}

__device__ __forceinline__ float3 ahead(float3 state, float h, float3 slope) {
    return make_float3(state.x + h * slope.x, state.y + h * slope.y, state.z + h * slope.z);
}

extern "C" __global__ __launch_bounds__(128)
void predator_prey(const float* __restrict__ rates, float h, int steps, float3* __restrict__ to,
                   int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float rate = rates[i];
    float3 state = make_float3(0.8f, 0.2f, 8.0f);
    for (int step = 0; step < steps; step++) {
        float3 k1 = growth(state, rate);
        float3 k2 = growth(ahead(state, 0.5f * h, k1), rate);
        float3 k3 = growth(ahead(state, 0.5f * h, k2), rate);
        float3 k4 = growth(ahead(state, h, k3), rate);
        state.x += h / 6.0f * (k1.x + 2.0f * (k2.x + k3.x) + k4.x);
        state.y += h / 6.0f * (k1.y + 2.0f * (k2.y + k3.y) + k4.y);
        state.z += h / 6.0f * (k1.z + 2.0f * (k2.z + k3.z) + k4.z);
    }
    to[i] = state;
}

constexpr int SWEEPS = 4;

__device__ __forceinline__ void rotate(float a[3][3], int p, int q, int r) {
    float off = a[p][q];
    if (off == 0.0f) return;
    float theta = (a[q][q] - a[p][p]) / (2.0f * off);
    float tangent = copysignf(1.0f, theta) / (fabsf(theta) + sqrtf(theta * theta + 1.0f));
    float cos = 1.0f / sqrtf(tangent * tangent + 1.0f);
    float sin = tangent * cos;
    a[p][p] -= tangent * off;
    a[q][q] += tangent * off;
    a[p][q] = a[q][p] = 0.0f;
    float to_p = a[r][p], to_q = a[r][q];
    a[r][p] = a[p][r] = cos * to_p - sin * to_q;
    a[r][q] = a[q][r] = sin * to_p + cos * to_q;
}

struct Triangle {
    float xx, xy, xz, yy, yz, zz;
};

extern "C" __global__ __launch_bounds__(128)
void eigen3x3(const Triangle* __restrict__ from, float3* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Triangle t = from[i];
    float a[3][3] = {{t.xx, t.xy, t.xz}, {t.xy, t.yy, t.yz}, {t.xz, t.yz, t.zz}};
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        rotate(a, 0, 1, 2);
        rotate(a, 0, 2, 1);
        rotate(a, 1, 2, 0);
    }
    float x = fmaxf(a[0][0], a[1][1]), y = fminf(a[0][0], a[1][1]), z = a[2][2];
    float middle = fmaxf(y, z);
    to[i] = make_float3(fmaxf(x, middle), fminf(x, middle), fminf(y, z));
}

__device__ __forceinline__ float limited(float left, float center, float right) {
    float a = center - left, b = right - center;
    return a * b <= 0.0f ? 0.0f : 2.0f * a * b / (a + b);
}

__device__ __forceinline__ float flux(float speed, float a, float b, float c, float d) {
    if (speed >= 0.0f) return speed * (b + 0.5f * (1.0f - speed) * limited(a, b, c));
    return speed * (c - 0.5f * (1.0f + speed) * limited(b, c, d));
}

extern "C" __global__ __launch_bounds__(256)
void advect_2d(const float* __restrict__ from, const float2* __restrict__ speeds,
               float* __restrict__ to, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    auto at = [&](int x, int y) { return y % height * width + x % width; };
    float row[5], column[5];
#pragma unroll
    for (int i = 0; i < 5; i++) {
        row[i] = from[at(x + width + i - 2, y)];
        column[i] = from[at(x, y + height + i - 2)];
    }
    float2 own = speeds[at(x, y)];
    float right = speeds[at(x + 1, y)].x;
    float below = speeds[at(x, y + 1)].y;
    float value = row[2];
    value += flux(own.x, row[0], row[1], row[2], row[3]);
    value -= flux(right, row[1], row[2], row[3], row[4]);
    value += flux(own.y, column[0], column[1], column[2], column[3]);
    value -= flux(below, column[1], column[2], column[3], column[4]);
    to[y * width + x] = value;
}

struct Vec3 {
    float x, y, z;
};
__device__ __forceinline__ Vec3 operator+(Vec3 a, Vec3 b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
}
__device__ __forceinline__ Vec3 operator*(Vec3 a, float by) { return {a.x * by, a.y * by, a.z * by}; }
__device__ __forceinline__ float dot(Vec3 a, Vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ __forceinline__ Vec3 cross(Vec3 a, Vec3 b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

struct Rotation {
    float w;
    Vec3 axis;

    __device__ Rotation normalized() const {
        float scale = 1.0f / sqrtf(w * w + dot(axis, axis));
        return {w * scale, axis * scale};
    }
    __device__ Rotation inverse() const { return {w, axis * -1.0f}; }
    __device__ Vec3 apply(Vec3 v) const {
        Vec3 twice = cross(axis, v) * 2.0f;
        return v + twice * w + cross(axis, twice);
    }
};
__device__ __forceinline__ Rotation operator*(Rotation a, Rotation b) {
    return {a.w * b.w - dot(a.axis, b.axis), b.axis * a.w + a.axis * b.w + cross(a.axis, b.axis)};
}

struct Load {
    Vec3 force, torque;
};

struct Body {
    Vec3 position, velocity;
    Rotation rotation;
    Vec3 momentum;
    float inverse_mass;
    Vec3 inverse_inertia;

    __device__ void step(const Load& load, float h) {
        velocity = velocity + load.force * (inverse_mass * h);
        position = position + velocity * h;
        momentum = momentum + load.torque * h;
        Vec3 own = rotation.inverse().apply(momentum);
        Vec3 spin = rotation.apply(
            {own.x * inverse_inertia.x, own.y * inverse_inertia.y, own.z * inverse_inertia.z});
        Rotation change = {1.0f, spin * (0.5f * h)};
        rotation = (change * rotation).normalized();
    }
};

extern "C" __global__ __launch_bounds__(256)
void rigid_bodies(const Body* __restrict__ from, const Load* __restrict__ loads, float h,
                  Body* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Body body = from[i];
    body.step(loads[i], h);
    to[i] = body;
}
