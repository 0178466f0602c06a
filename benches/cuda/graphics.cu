// Graphics: skinned vertices, rays and triangles, and inverse transformations.

__device__ __forceinline__ float3 operator+(float3 a, float3 b) {
    return make_float3(a.x + b.x, a.y + b.y, a.z + b.z);
}

__device__ __forceinline__ float3 operator-(float3 a, float3 b) {
    return make_float3(a.x - b.x, a.y - b.y, a.z - b.z);
}

__device__ __forceinline__ float3 operator*(float3 a, float s) {
    return make_float3(a.x * s, a.y * s, a.z * s);
}

__device__ __forceinline__ float dot(float3 a, float3 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

__device__ __forceinline__ float3 cross(float3 a, float3 b) {
    return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

struct Vertex {
    float3 position, normal;
};

struct Bone {
    float4 x, y, z;
};

__device__ __forceinline__ float3 rotate(const Bone& bone, float3 v) {
    return make_float3(bone.x.x * v.x + bone.x.y * v.y + bone.x.z * v.z,
                       bone.y.x * v.x + bone.y.y * v.y + bone.y.z * v.z,
                       bone.z.x * v.x + bone.z.y * v.y + bone.z.z * v.z);
}

extern "C" __global__ __launch_bounds__(256)
void skinning(const Bone* __restrict__ bones, const Vertex* __restrict__ vertices,
              const uchar4* __restrict__ joints, const float4* __restrict__ weights,
              Vertex* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Vertex vertex = vertices[i];
    uchar4 joint = joints[i];
    float4 weight = weights[i];
    int indices[4] = {joint.x, joint.y, joint.z, joint.w};
    float factors[4] = {weight.x, weight.y, weight.z, weight.w};
    float3 position = make_float3(0.0f, 0.0f, 0.0f), normal = position;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        Bone bone = bones[indices[k]];
        float3 offset = make_float3(bone.x.w, bone.y.w, bone.z.w);
        position = position + (rotate(bone, vertex.position) + offset) * factors[k];
        normal = normal + rotate(bone, vertex.normal) * factors[k];
    }
    to[i] = {position, normal * (1.0f / sqrtf(dot(normal, normal)))};
}

struct Ray {
    float3 origin, direction;
};

struct Triangle {
    float3 corner, first, second;
};

struct alignas(8) Hit {
    float distance;
    unsigned triangle;
};

extern "C" __global__ __launch_bounds__(128)
void ray_triangles(const Triangle* __restrict__ triangles, unsigned count,
                   const Ray* __restrict__ rays, Hit* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Ray ray = rays[i];
    Hit nearest = {__int_as_float(0x7f800000), 0xffffffff};
    for (unsigned k = 0; k < count; k++) {
        Triangle triangle = triangles[k];
        float3 perpendicular = cross(ray.direction, triangle.second);
        float determinant = dot(triangle.first, perpendicular);
        if (fabsf(determinant) < 1e-7f) continue;
        float inverse = 1.0f / determinant;
        float3 to_origin = ray.origin - triangle.corner;
        float u = dot(to_origin, perpendicular) * inverse;
        if (u < 0.0f || u > 1.0f) continue;
        float3 other = cross(to_origin, triangle.first);
        float v = dot(ray.direction, other) * inverse;
        if (v < 0.0f || u + v > 1.0f) continue;
        float distance = dot(triangle.second, other) * inverse;
        if (distance > 0.0f && distance < nearest.distance) nearest = {distance, k};
    }
    to[i] = nearest;
}

struct alignas(16) Matrix {
    float m[4][4];
};

extern "C" __global__ __launch_bounds__(128)
void inverse4x4(const Matrix* __restrict__ from, Matrix* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Matrix matrix = from[i], result;
    const float(&m)[4][4] = matrix.m;
    float s0 = m[0][0] * m[1][1] - m[1][0] * m[0][1];
    float s1 = m[0][0] * m[1][2] - m[1][0] * m[0][2];
    float s2 = m[0][0] * m[1][3] - m[1][0] * m[0][3];
    float s3 = m[0][1] * m[1][2] - m[1][1] * m[0][2];
    float s4 = m[0][1] * m[1][3] - m[1][1] * m[0][3];
    float s5 = m[0][2] * m[1][3] - m[1][2] * m[0][3];
    float c0 = m[2][0] * m[3][1] - m[3][0] * m[2][1];
    float c1 = m[2][0] * m[3][2] - m[3][0] * m[2][2];
    float c2 = m[2][0] * m[3][3] - m[3][0] * m[2][3];
    float c3 = m[2][1] * m[3][2] - m[3][1] * m[2][2];
    float c4 = m[2][1] * m[3][3] - m[3][1] * m[2][3];
    float c5 = m[2][2] * m[3][3] - m[3][2] * m[2][3];
    float scale = 1.0f / (s0 * c5 - s1 * c4 + s2 * c3 + s3 * c2 - s4 * c1 + s5 * c0);
    float(&r)[4][4] = result.m;
    r[0][0] = (m[1][1] * c5 - m[1][2] * c4 + m[1][3] * c3) * scale;
    r[0][1] = (-m[0][1] * c5 + m[0][2] * c4 - m[0][3] * c3) * scale;
    r[0][2] = (m[3][1] * s5 - m[3][2] * s4 + m[3][3] * s3) * scale;
    r[0][3] = (-m[2][1] * s5 + m[2][2] * s4 - m[2][3] * s3) * scale;
    r[1][0] = (-m[1][0] * c5 + m[1][2] * c2 - m[1][3] * c1) * scale;
    r[1][1] = (m[0][0] * c5 - m[0][2] * c2 + m[0][3] * c1) * scale;
    r[1][2] = (-m[3][0] * s5 + m[3][2] * s2 - m[3][3] * s1) * scale;
    r[1][3] = (m[2][0] * s5 - m[2][2] * s2 + m[2][3] * s1) * scale;
    r[2][0] = (m[1][0] * c4 - m[1][1] * c2 + m[1][3] * c0) * scale;
    r[2][1] = (-m[0][0] * c4 + m[0][1] * c2 - m[0][3] * c0) * scale;
    r[2][2] = (m[3][0] * s4 - m[3][1] * s2 + m[3][3] * s0) * scale;
    r[2][3] = (-m[2][0] * s4 + m[2][1] * s2 - m[2][3] * s0) * scale;
    r[3][0] = (-m[1][0] * c3 + m[1][1] * c1 - m[1][2] * c0) * scale;
    r[3][1] = (m[0][0] * c3 - m[0][1] * c1 + m[0][2] * c0) * scale;
    r[3][2] = (-m[3][0] * s3 + m[3][1] * s1 - m[3][2] * s0) * scale;
    r[3][3] = (m[2][0] * s3 - m[2][1] * s1 + m[2][2] * s0) * scale;
    to[i] = result;
}
