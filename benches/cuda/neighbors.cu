// Neighbors: densities of particles in cells, nearest points by a tree, and places in a sorted
// array.

// The fourth element of a particle is its mass.
extern "C" __global__ __launch_bounds__(128)
void sph_density(const float4* __restrict__ particles, const unsigned* __restrict__ starts,
                 int side, float radius, float scale, float* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 own = particles[i];
    int cx = min((int)(own.x / radius), side - 1);
    int cy = min((int)(own.y / radius), side - 1);
    int cz = min((int)(own.z / radius), side - 1);
    float sum = 0.0f;
    for (int z = max(cz - 1, 0); z <= min(cz + 1, side - 1); z++) {
        for (int y = max(cy - 1, 0); y <= min(cy + 1, side - 1); y++) {
            for (int x = max(cx - 1, 0); x <= min(cx + 1, side - 1); x++) {
                int cell = (z * side + y) * side + x;
                for (int j = starts[cell]; j < starts[cell + 1]; j++) {
                    float4 other = particles[j];
                    float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
                    float difference = radius * radius - (dx * dx + dy * dy + dz * dz);
                    if (difference > 0.0f)
                        sum += other.w * difference * difference * difference;
                }
            }
        }
    }
    to[i] = sum * scale;
}

// `first` is the first point of a leaf, or the first of two children if `count` is zero.
struct alignas(16) Node {
    float low[3];
    unsigned first;
    float high[3];
    unsigned count;
};

struct alignas(8) Nearest {
    float distance;
    unsigned point;
};

__device__ __forceinline__ float distance_to_box(const Node& node, float4 point) {
    float x = fmaxf(fmaxf(node.low[0] - point.x, point.x - node.high[0]), 0.0f);
    float y = fmaxf(fmaxf(node.low[1] - point.y, point.y - node.high[1]), 0.0f);
    float z = fmaxf(fmaxf(node.low[2] - point.z, point.z - node.high[2]), 0.0f);
    return x * x + y * y + z * z;
}

constexpr int DEPTH = 32;

extern "C" __global__ __launch_bounds__(128)
void bvh_nearest(const Node* __restrict__ nodes, const float4* __restrict__ points,
                 const float4* __restrict__ queries, Nearest* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 query = queries[i];
    Nearest nearest = {__int_as_float(0x7f800000), 0xffffffff};
    unsigned stack[DEPTH];
    int depth = 0;
    stack[depth++] = 0;
    while (depth > 0) {
        Node node = nodes[stack[--depth]];
        if (distance_to_box(node, query) >= nearest.distance) continue;
        if (node.count > 0) {
            for (unsigned k = node.first; k < node.first + node.count; k++) {
                float4 point = points[k];
                float dx = point.x - query.x, dy = point.y - query.y, dz = point.z - query.z;
                float distance = dx * dx + dy * dy + dz * dz;
                if (distance < nearest.distance) nearest = {distance, k};
            }
        } else {
            unsigned near = node.first, far = node.first + 1;
            float to_near = distance_to_box(nodes[near], query);
            float to_far = distance_to_box(nodes[far], query);
            if (to_far < to_near) {
                unsigned other = near;
                near = far;
                far = other;
            }
            stack[depth++] = far;
            stack[depth++] = near;
        }
    }
    to[i] = nearest;
}

extern "C" __global__ __launch_bounds__(256)
void lower_bound(const unsigned* __restrict__ sorted, int len, const unsigned* __restrict__ keys,
                 unsigned* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned key = keys[i];
    int low = 0, high = len;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (sorted[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    to[i] = low;
}
