// Breadth-first search.

constexpr unsigned FAR = 0xffffffff;

extern "C" __global__ __launch_bounds__(256)
void bfs_level(const unsigned* __restrict__ offsets, const unsigned* __restrict__ targets,
               const unsigned* __restrict__ frontier, unsigned level, unsigned* distances,
               unsigned* count, unsigned* __restrict__ next, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned vertex = frontier[i];
    for (unsigned edge = offsets[vertex]; edge < offsets[vertex + 1]; edge++) {
        unsigned target = targets[edge];
        if (distances[target] == FAR && atomicCAS(&distances[target], FAR, level) == FAR)
            next[atomicAdd(count, 1u)] = target;
    }
}
