// Text and sorted sequences: base64, sketches of DNA, and merged arrays.

__device__ __forceinline__ unsigned char letter(unsigned bits) {
    bits &= 63;
    if (bits < 26) return 'A' + bits;
    if (bits < 52) return 'a' + (bits - 26);
    if (bits < 62) return '0' + (bits - 52);
    return bits == 62 ? '+' : '/';
}

extern "C" __global__ __launch_bounds__(256)
void base64_encode(const unsigned char* __restrict__ from, uchar4* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        from += 3 * i;
        unsigned bits = from[0] << 16 | from[1] << 8 | from[2];
        to[i] = make_uchar4(letter(bits >> 18), letter(bits >> 12), letter(bits >> 6), letter(bits));
    }
}

constexpr int READ = 128;
constexpr int K = 15;

__device__ __forceinline__ int code(unsigned char letter) {
    switch (letter) {
        case 'A': return 0;
        case 'C': return 1;
        case 'G': return 2;
        case 'T': return 3;
        default: return -1;
    }
}

__device__ __forceinline__ unsigned mix(unsigned x) {
    x = (x ^ x >> 16) * 0x7feb352d;
    x = (x ^ x >> 15) * 0x846ca68b;
    return x ^ x >> 16;
}

extern "C" __global__ __launch_bounds__(128)
void min_hash(const unsigned char* __restrict__ reads, unsigned* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned char* read = reads + (size_t)i * READ;
    unsigned forward = 0, reverse = 0, least = 0xffffffff;
    int length = 0;
    for (int k = 0; k < READ; k++) {
        int base = code(read[k]);
        if (base < 0) {
            length = 0;
            continue;
        }
        forward = (forward << 2 | base) & ((1u << (2 * K)) - 1);
        reverse = reverse >> 2 | (unsigned)(3 - base) << (2 * (K - 1));
        length++;
        if (length >= K) least = min(least, mix(min(forward, reverse)));
    }
    to[i] = least;
}

constexpr int MERGED = 8;

extern "C" __global__ __launch_bounds__(256)
void merge_sorted(const unsigned* __restrict__ a, int a_len, const unsigned* __restrict__ b,
                  int b_len, unsigned* __restrict__ to) {
    int start = (blockIdx.x * blockDim.x + threadIdx.x) * MERGED;
    if (start >= a_len + b_len) return;
    int low = max(0, start - b_len);
    int high = min(start, a_len);
    while (low < high) {
        int middle = (low + high) / 2;
        if (a[middle] <= b[start - 1 - middle])
            low = middle + 1;
        else
            high = middle;
    }
    int i = low, j = start - low;
    for (int k = start; k < start + MERGED; k++) {
        if (i < a_len && (j >= b_len || a[i] <= b[j]))
            to[k] = a[i++];
        else
            to[k] = b[j++];
    }
}
