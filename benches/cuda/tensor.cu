// Products of matrices of bf16 on tensor cores, by mma.sync. Each of four warps computes a quarter of
// a block.

constexpr int BLOCK = 64;
constexpr int STEP = 32;

extern "C" __global__ __launch_bounds__(128)
void gemm_bf16(const unsigned short* __restrict__ a, const unsigned short* __restrict__ b,
               float* __restrict__ c, int n) {
    __shared__ alignas(16) unsigned short tile_a[BLOCK][STEP + 8];
    __shared__ alignas(16) unsigned short tile_b[STEP][BLOCK + 8];
    int tx = threadIdx.x, ty = threadIdx.y;
    int lane = (ty * 4 + tx) % 32, warp = (ty * 4 + tx) / 32;
    int warp_x = warp % 2 * 32, warp_y = warp / 2 * 32;
    int x0 = blockIdx.x * BLOCK, y0 = blockIdx.y * BLOCK;
    float sums[2][4][4] = {};
    for (int k0 = 0; k0 < n; k0 += STEP) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int y = ty + 32 * half, x = tx + 4 * half;
            *reinterpret_cast<uint4*>(&tile_a[y][8 * tx]) =
                *reinterpret_cast<const uint4*>(&a[(y0 + y) * n + k0 + 8 * tx]);
            *reinterpret_cast<uint4*>(&tile_b[ty][8 * x]) =
                *reinterpret_cast<const uint4*>(&b[(k0 + ty) * n + x0 + 8 * x]);
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < STEP; k += 16) {
            unsigned right[4][2];
#pragma unroll
            for (int j = 0; j < 4; j++)
#pragma unroll
                for (int r = 0; r < 2; r++) {
                    int row = k + lane % 4 * 2 + 8 * r, column = warp_x + 8 * j + lane / 4;
                    right[j][r] = tile_b[row][column] | unsigned(tile_b[row + 1][column]) << 16;
                }
#pragma unroll
            for (int i = 0; i < 2; i++) {
                unsigned left[4];
#pragma unroll
                for (int r = 0; r < 4; r++) {
                    int row = warp_y + 16 * i + lane / 4 + r % 2 * 8;
                    int column = k + lane % 4 * 2 + r / 2 * 8;
                    left[r] = *reinterpret_cast<unsigned*>(&tile_a[row][column]);
                }
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    float* d = sums[i][j];
                    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]),
                          "r"(right[j][0]), "r"(right[j][1]));
                }
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
#pragma unroll
            for (int r = 0; r < 4; r++) {
                int row = y0 + warp_y + 16 * i + lane / 4 + r / 2 * 8;
                int column = x0 + warp_x + 8 * j + lane % 4 * 2 + r % 2;
                c[row * n + column] = sums[i][j][r];
            }
}
