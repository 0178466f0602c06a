// AES-128 in counter mode.

constexpr int ROUNDS = 10;

__device__ __forceinline__ unsigned rotate_right(unsigned x, int n) {
    return __funnelshift_r(x, x, n);
}

__device__ __forceinline__ unsigned swap_bytes(unsigned x) { return __byte_perm(x, 0, 0x0123); }

extern "C" __global__ __launch_bounds__(256)
void aes_ctr(const unsigned* __restrict__ from_table,
             const unsigned char* __restrict__ from_substitutes, const unsigned* __restrict__ keys,
             const unsigned* __restrict__ nonce, const uint4* __restrict__ from,
             uint4* __restrict__ to, int n) {
    __shared__ unsigned table[256];
    __shared__ unsigned char substitutes[256];
    table[threadIdx.x] = from_table[threadIdx.x];
    substitutes[threadIdx.x] = from_substitutes[threadIdx.x];
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned s0 = nonce[0] ^ keys[0], s1 = nonce[1] ^ keys[1];
    unsigned s2 = nonce[2] ^ keys[2], s3 = i ^ keys[3];
#pragma unroll
    for (int round = 1; round < ROUNDS; round++) {
        unsigned t0 = table[s0 >> 24] ^ rotate_right(table[s1 >> 16 & 255], 8) ^
                      rotate_right(table[s2 >> 8 & 255], 16) ^ rotate_right(table[s3 & 255], 24);
        unsigned t1 = table[s1 >> 24] ^ rotate_right(table[s2 >> 16 & 255], 8) ^
                      rotate_right(table[s3 >> 8 & 255], 16) ^ rotate_right(table[s0 & 255], 24);
        unsigned t2 = table[s2 >> 24] ^ rotate_right(table[s3 >> 16 & 255], 8) ^
                      rotate_right(table[s0 >> 8 & 255], 16) ^ rotate_right(table[s1 & 255], 24);
        unsigned t3 = table[s3 >> 24] ^ rotate_right(table[s0 >> 16 & 255], 8) ^
                      rotate_right(table[s1 >> 8 & 255], 16) ^ rotate_right(table[s2 & 255], 24);
        s0 = t0 ^ keys[4 * round];
        s1 = t1 ^ keys[4 * round + 1];
        s2 = t2 ^ keys[4 * round + 2];
        s3 = t3 ^ keys[4 * round + 3];
    }
    unsigned t0 = substitutes[s0 >> 24] << 24 | substitutes[s1 >> 16 & 255] << 16 |
                  substitutes[s2 >> 8 & 255] << 8 | substitutes[s3 & 255];
    unsigned t1 = substitutes[s1 >> 24] << 24 | substitutes[s2 >> 16 & 255] << 16 |
                  substitutes[s3 >> 8 & 255] << 8 | substitutes[s0 & 255];
    unsigned t2 = substitutes[s2 >> 24] << 24 | substitutes[s3 >> 16 & 255] << 16 |
                  substitutes[s0 >> 8 & 255] << 8 | substitutes[s1 & 255];
    unsigned t3 = substitutes[s3 >> 24] << 24 | substitutes[s0 >> 16 & 255] << 16 |
                  substitutes[s1 >> 8 & 255] << 8 | substitutes[s2 & 255];
    uint4 block = from[i];
    block.x ^= swap_bytes(t0 ^ keys[4 * ROUNDS]);
    block.y ^= swap_bytes(t1 ^ keys[4 * ROUNDS + 1]);
    block.z ^= swap_bytes(t2 ^ keys[4 * ROUNDS + 2]);
    block.w ^= swap_bytes(t3 ^ keys[4 * ROUNDS + 3]);
    to[i] = block;
}
