// Images of bytes, and a ray tracer.

extern "C" __global__ __launch_bounds__(256)
void rgb_to_gray(const uchar3* __restrict__ from, unsigned char* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        uchar3 pixel = from[i];
        to[i] = (77u * pixel.x + 150u * pixel.y + 29u * pixel.z) >> 8;
    }
}

constexpr int RADIUS = 4;
constexpr int TAPS = 2 * RADIUS + 1;
__device__ constexpr unsigned WEIGHTS[TAPS] = {1, 8, 28, 56, 70, 56, 28, 8, 1};

extern "C" __global__ __launch_bounds__(256)
void blur_rows(const unsigned char* __restrict__ from, unsigned char* __restrict__ to, int width,
               int height) {
    __shared__ unsigned char shared[8][32 + 2 * RADIUS];
    int x0 = blockIdx.x * 32;
    int y = blockIdx.y * 8 + threadIdx.y;
    for (int i = threadIdx.x; i < 32 + 2 * RADIUS; i += 32) {
        int x = min(max(x0 + i - RADIUS, 0), width - 1);
        shared[threadIdx.y][i] = from[min(y, height - 1) * width + x];
    }
    __syncthreads();
    int x = x0 + threadIdx.x;
    if (x < width && y < height) {
        unsigned sum = 0;
#pragma unroll
        for (int d = 0; d < TAPS; d++) sum += WEIGHTS[d] * shared[threadIdx.y][threadIdx.x + d];
        to[y * width + x] = sum / 256;
    }
}

extern "C" __global__ __launch_bounds__(256)
void blur_columns(const unsigned char* __restrict__ from, unsigned char* __restrict__ to, int width,
                  int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) {
        unsigned sum = 0;
#pragma unroll
        for (int d = 0; d < TAPS; d++) {
            int row = min(max(y + d - RADIUS, 0), height - 1);
            sum += WEIGHTS[d] * from[row * width + x];
        }
        to[y * width + x] = sum / 256;
    }
}

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

struct Sphere {
    Vec3 center;
    float radius;
    Vec3 color;
    float mirror;
};

constexpr int BOUNCES = 4;

__device__ __forceinline__ bool hit(const Sphere& sphere, Vec3 origin, Vec3 direction,
                                    float& distance) {
    Vec3 to_origin = origin - sphere.center;
    float half = dot(to_origin, direction);
    float discriminant = half * half - (dot(to_origin, to_origin) - sphere.radius * sphere.radius);
    if (discriminant < 0.0f) return false;
    distance = -half - sqrtf(discriminant);
    return distance > 1e-3f;
}

__device__ __forceinline__ unsigned to_byte(float x) {
    return fminf(fmaxf(x, 0.0f), 1.0f) * 255.0f;
}

extern "C" __global__ __launch_bounds__(256)
void ray_spheres(const Sphere* __restrict__ spheres, int count, unsigned* __restrict__ to, int width,
                 int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float u = (2.0f * (x + 0.5f) - width) / height;
    float v = (2.0f * (y + 0.5f) - height) / height;
    Vec3 origin = {0, 0, 0}, direction = normalized({u, v, 1.5f}), color = {0, 0, 0};
    Vec3 sun = {0.5773503f, 0.5773503f, -0.5773503f};
    float light = 1.0f;
    for (int bounce = 0; bounce < BOUNCES; bounce++) {
        float least = __int_as_float(0x7f800000);
        int nearest = -1;
        for (int i = 0; i < count; i++) {
            float distance;
            if (hit(spheres[i], origin, direction, distance) && distance < least) {
                least = distance;
                nearest = i;
            }
        }
        if (nearest < 0) {
            float t = 0.5f * (direction.y + 1.0f);
            Vec3 sky = Vec3{1.0f, 1.0f, 1.0f} * (1.0f - t) + Vec3{0.5f, 0.7f, 1.0f} * t;
            color = color + sky * light;
            break;
        }
        Sphere sphere = spheres[nearest];
        Vec3 point = origin + direction * least;
        Vec3 normal = (point - sphere.center) * (1.0f / sphere.radius);
        Vec3 shade = sphere.color * (0.2f + 0.8f * fmaxf(dot(normal, sun), 0.0f));
        color = color + shade * (light * (1.0f - sphere.mirror));
        light *= sphere.mirror;
        origin = point;
        direction = direction - normal * (2.0f * dot(direction, normal));
    }
    to[y * width + x] = to_byte(color.x) | to_byte(color.y) << 8 | to_byte(color.z) << 16;
}
