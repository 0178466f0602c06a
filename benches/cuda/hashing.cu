// SHA-256 of many messages, a hash table that threads insert into at the same time, and hashes of
// strings.

__constant__ unsigned ROUNDS[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

__device__ __forceinline__ unsigned rotate_right(unsigned x, int n) {
    return __funnelshift_r(x, x, n);
}

__device__ __forceinline__ unsigned swap_bytes(unsigned x) { return __byte_perm(x, 0, 0x0123); }

__device__ __forceinline__ void compress(unsigned state[8], unsigned w[16]) {
    unsigned a = state[0], b = state[1], c = state[2], d = state[3];
    unsigned e = state[4], f = state[5], g = state[6], h = state[7];
#pragma unroll
    for (int i = 0; i < 64; i++) {
        if (i >= 16) {
            unsigned w1 = w[(i + 1) % 16], w14 = w[(i + 14) % 16];
            unsigned s0 = rotate_right(w1, 7) ^ rotate_right(w1, 18) ^ (w1 >> 3);
            unsigned s1 = rotate_right(w14, 17) ^ rotate_right(w14, 19) ^ (w14 >> 10);
            w[i % 16] += s0 + w[(i + 9) % 16] + s1;
        }
        unsigned s1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
        unsigned t1 = h + s1 + ((e & f) ^ (~e & g)) + ROUNDS[i] + w[i % 16];
        unsigned s0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
        unsigned t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
}

extern "C" __global__ __launch_bounds__(256)
void sha256(const unsigned* __restrict__ messages, unsigned* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    unsigned w[16];
#pragma unroll
    for (int k = 0; k < 16; k++) w[k] = swap_bytes(messages[16 * i + k]);
    compress(state, w);
    unsigned end[16] = {0x80000000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 512};
    compress(state, end);
#pragma unroll
    for (int k = 0; k < 8; k++) to[8 * i + k] = swap_bytes(state[k]);
}

constexpr unsigned EMPTY = 0xffffffff;

__device__ __forceinline__ unsigned hash(unsigned key) {
    key ^= key >> 16;
    key *= 0x85ebca6b;
    key ^= key >> 13;
    key *= 0xc2b2ae35;
    return key ^ key >> 16;
}

extern "C" __global__ __launch_bounds__(256)
void hash_insert(const unsigned* __restrict__ keys, const unsigned* __restrict__ values,
                 unsigned* __restrict__ slots, unsigned* __restrict__ slot_values,
                 unsigned capacity, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned key = keys[i];
    unsigned slot = hash(key) & (capacity - 1);
    while (true) {
        unsigned other = atomicCAS(&slots[slot], EMPTY, key);
        if (other == EMPTY || other == key) break;
        slot = (slot + 1) & (capacity - 1);
    }
    slot_values[slot] = values[i];
}

typedef unsigned long long Word;

constexpr Word PRIME1 = 0x9e3779b185ebca87;
constexpr Word PRIME2 = 0xc2b2ae3d27d4eb4f;
constexpr Word PRIME3 = 0x165667b19e3779f9;
constexpr Word PRIME4 = 0x85ebca77c2b2ae63;
constexpr Word PRIME5 = 0x27d4eb2f165667c5;

__device__ __forceinline__ Word rotate_left(Word x, int n) { return x << n | x >> (64 - n); }

// Strings start at any address, so words are loaded as bytes.
template <int BYTES>
__device__ __forceinline__ Word load(const unsigned char* from) {
    Word word = 0;
#pragma unroll
    for (int i = 0; i < BYTES; i++) word |= (Word)from[i] << (8 * i);
    return word;
}

__device__ __forceinline__ Word add_word(Word lane, Word word) {
    return rotate_left(lane + word * PRIME2, 31) * PRIME1;
}

__device__ __forceinline__ Word merge(Word hash, Word lane) {
    return (hash ^ add_word(0, lane)) * PRIME1 + PRIME4;
}

extern "C" __global__ __launch_bounds__(256)
void xxhash64(const unsigned char* __restrict__ text, const unsigned* __restrict__ offsets,
              Word seed, Word* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned char* string = text + offsets[i];
    int len = offsets[i + 1] - offsets[i];
    int at = 0;
    Word hash = seed + PRIME5;
    if (len >= 32) {
        Word a = seed + PRIME1 + PRIME2, b = seed + PRIME2, c = seed, d = seed - PRIME1;
        for (; at + 32 <= len; at += 32) {
            a = add_word(a, load<8>(string + at));
            b = add_word(b, load<8>(string + at + 8));
            c = add_word(c, load<8>(string + at + 16));
            d = add_word(d, load<8>(string + at + 24));
        }
        hash = rotate_left(a, 1) + rotate_left(b, 7) + rotate_left(c, 12) + rotate_left(d, 18);
        hash = merge(merge(merge(merge(hash, a), b), c), d);
    }
    hash += len;
    for (; at + 8 <= len; at += 8)
        hash = rotate_left(hash ^ add_word(0, load<8>(string + at)), 27) * PRIME1 + PRIME4;
    if (at + 4 <= len) {
        hash = rotate_left(hash ^ load<4>(string + at) * PRIME1, 23) * PRIME2 + PRIME3;
        at += 4;
    }
    for (; at < len; at++) hash = rotate_left(hash ^ string[at] * PRIME5, 11) * PRIME1;
    hash = (hash ^ hash >> 33) * PRIME2;
    hash = (hash ^ hash >> 29) * PRIME3;
    to[i] = hash ^ hash >> 32;
}
