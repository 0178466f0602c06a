// Macroscopic cross sections of materials at random energies: the event loop of XSBench.

constexpr int MATERIALS = 12;
constexpr int MOST_NUCLIDES = 34;
__constant__ double LIKELY[MATERIALS] = {0.140, 0.192, 0.467, 0.601, 0.755, 0.819,
                                         0.885, 0.940, 0.948, 0.963, 0.988, 1.0};

struct GridPoint {
    double energy;
    double sections[5];
};

__device__ __forceinline__ double uniform(unsigned long long index) {
    unsigned long long x = index + 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return ((x ^ (x >> 31)) >> 11) * (1.0 / (1ull << 53));
}

extern "C" __global__ __launch_bounds__(256)
void xsbench(const double* __restrict__ energies, int points, const unsigned* __restrict__ nearest,
             const GridPoint* __restrict__ grids, int grid_points, int nuclides,
             const unsigned* __restrict__ counts, const unsigned* __restrict__ members,
             const double* __restrict__ densities, unsigned* __restrict__ to, int n) {
    int event = blockIdx.x * blockDim.x + threadIdx.x;
    if (event >= n) return;
    double energy = uniform(2ull * event);
    double draw = uniform(2ull * event + 1);
    int material = 0;
    while (material + 1 < MATERIALS && LIKELY[material] < draw) material++;
    int low = 0, length = points;
    while (length > 0) {
        int half = length / 2;
        if (energies[low + half] <= energy) {
            low += half + 1;
            length -= half + 1;
        } else {
            length = half;
        }
    }
    int point = min(max(low, 1), points - 1) - 1;
    double sections[5] = {};
    for (int i = 0; i < counts[material]; i++) {
        int nuclide = members[material * MOST_NUCLIDES + i];
        double density = densities[material * MOST_NUCLIDES + i];
        int at = min(int(nearest[point * nuclides + nuclide]), grid_points - 2);
        const GridPoint* low = grids + nuclide * grid_points + at;
        const GridPoint* high = low + 1;
        double part = (high->energy - energy) / (high->energy - low->energy);
#pragma unroll
        for (int s = 0; s < 5; s++)
            sections[s] +=
                density * (high->sections[s] - part * (high->sections[s] - low->sections[s]));
    }
    unsigned largest = 0;
    double most = sections[0];
#pragma unroll
    for (int s = 1; s < 5; s++)
        if (sections[s] > most) {
            most = sections[s];
            largest = s;
        }
    to[event] = largest;
}
