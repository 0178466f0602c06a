// Scenes of signed distances: rays that march until they are near a surface.

struct Vec3 {
    float x, y, z;
};
__device__ __forceinline__ Vec3 operator+(Vec3 a, Vec3 b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
}
__device__ __forceinline__ Vec3 operator-(Vec3 a, Vec3 b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
}
__device__ __forceinline__ Vec3 operator*(Vec3 a, float by) { return {a.x * by, a.y * by, a.z * by}; }
__device__ __forceinline__ float dot(Vec3 a, Vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ __forceinline__ Vec3 normalized(Vec3 a) { return a * (1.0f / sqrtf(dot(a, a))); }
__device__ __forceinline__ Vec3 cross(Vec3 a, Vec3 b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
__device__ __forceinline__ float clamp(float x, float low, float high) {
    return fminf(fmaxf(x, low), high);
}

constexpr int STEPS = 96;
constexpr int SHADOW_STEPS = 32;
constexpr float NEAR = 1e-3f;
constexpr float FAR = 20.0f;

__device__ __forceinline__ float length(float x, float y) { return sqrtf(x * x + y * y); }

__device__ __forceinline__ float smooth_min(float a, float b, float width) {
    float h = clamp(0.5f + 0.5f * (b - a) / width, 0.0f, 1.0f);
    return b + (a - b) * h - width * h * (1.0f - h);
}

__device__ __forceinline__ float around(float x) { return x - 4.0f * floorf(x * 0.25f) - 2.0f; }

__device__ __forceinline__ float distance(Vec3 p) {
    float ground = p.y + 1.0f;
    float torus = length(length(p.x, p.z) - 1.5f, p.y) - 0.3f;
    float bx = fabsf(p.x) - 0.6f, by = fabsf(p.y - 0.4f) - 0.6f, bz = fabsf(p.z) - 0.6f;
    Vec3 outside = {fmaxf(bx, 0.0f), fmaxf(by, 0.0f), fmaxf(bz, 0.0f)};
    float inside = fminf(fmaxf(bx, fmaxf(by, bz)), 0.0f);
    float cube = sqrtf(dot(outside, outside)) + inside - 0.1f;
    Vec3 center = {around(p.x), p.y + 0.6f, around(p.z)};
    float spheres = sqrtf(dot(center, center)) - 0.4f;
    return fminf(fminf(smooth_min(torus, cube, 0.3f), spheres), ground);
}

__device__ __forceinline__ Vec3 normal(Vec3 p) {
    Vec3 x = {NEAR, 0.0f, 0.0f}, y = {0.0f, NEAR, 0.0f}, z = {0.0f, 0.0f, NEAR};
    return normalized({distance(p + x) - distance(p - x), distance(p + y) - distance(p - y),
                       distance(p + z) - distance(p - z)});
}

__device__ __forceinline__ float shadow(Vec3 point, Vec3 light) {
    float part = 1.0f, along = 0.05f;
    for (int step = 0; step < SHADOW_STEPS; step++) {
        float near = distance(point + light * along);
        part = fminf(part, 8.0f * near / along);
        along += clamp(near, 0.02f, 0.5f);
        if (part < NEAR || along > 8.0f) break;
    }
    return fmaxf(part, 0.0f);
}

__device__ __forceinline__ float render(int x, int y, int width, int height, float angle) {
    float u = (2.0f * (x + 0.5f) - width) / height;
    float v = (height - 2.0f * (y + 0.5f)) / height;
    float sin, cos;
    sincosf(angle, &sin, &cos);
    Vec3 eye = {5.0f * cos, 2.0f, 5.0f * sin};
    Vec3 forward = normalized(Vec3{0.0f, 0.0f, 0.0f} - eye);
    Vec3 right = normalized({-forward.z, 0.0f, forward.x});
    Vec3 up = cross(right, forward);
    Vec3 direction = normalized(right * u + up * v + forward * 1.8f);
    Vec3 light = {0.5773503f, 0.5773503f, -0.5773503f};

    float along = 0.0f;
    for (int step = 0; step < STEPS; step++) {
        Vec3 point = eye + direction * along;
        float near = distance(point);
        if (near < NEAR) {
            float diffuse = fmaxf(dot(normal(point), light), 0.0f);
            return 0.15f + 0.85f * diffuse * shadow(point, light);
        }
        along += near;
        if (along > FAR) break;
    }
    return 0.5f + 0.3f * direction.y;
}

extern "C" __global__ __launch_bounds__(256)
void ray_march(float angle, unsigned char* __restrict__ to, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    to[y * width + x] = clamp(render(x, y, width, height, angle), 0.0f, 1.0f) * 255.0f;
}
