// Cameras: colors of raw images, hue and saturation, and matched features.

extern "C" __global__ __launch_bounds__(256)
void demosaic(const unsigned short* __restrict__ from, ushort3* __restrict__ to, int width,
              int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int left = max(x - 1, 0), right = min(x + 1, width - 1);
    int above = max(y - 1, 0), below = min(y + 1, height - 1);
    auto pixel = [&](int x, int y) -> unsigned { return from[y * width + x]; };
    unsigned own = pixel(x, y);
    auto row = [&] { return (pixel(left, y) + pixel(right, y)) / 2; };
    auto column = [&] { return (pixel(x, above) + pixel(x, below)) / 2; };
    auto cross = [&] {
        return (pixel(left, y) + pixel(right, y) + pixel(x, above) + pixel(x, below)) / 4;
    };
    auto corners = [&] {
        return (pixel(left, above) + pixel(right, above) + pixel(left, below) +
                pixel(right, below)) / 4;
    };
    ushort3 color;
    if (x % 2 == 0 && y % 2 == 0)
        color = make_ushort3(own, cross(), corners());
    else if (y % 2 == 0)
        color = make_ushort3(row(), own, column());
    else if (x % 2 == 0)
        color = make_ushort3(column(), own, row());
    else
        color = make_ushort3(corners(), cross(), own);
    to[y * width + x] = color;
}

extern "C" __global__ __launch_bounds__(256)
void rgb_to_hsv(const uchar3* __restrict__ from, uchar3* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uchar3 pixel = from[i];
    float r = pixel.x, g = pixel.y, b = pixel.z;
    float most = fmaxf(fmaxf(r, g), b);
    float range = most - fminf(fminf(r, g), b);
    if (range == 0.0f) {
        to[i] = make_uchar3(0, 0, most);
        return;
    }
    float hue;
    if (most == r)
        hue = (g - b) / range;
    else if (most == g)
        hue = 2.0f + (b - r) / range;
    else
        hue = 4.0f + (r - g) / range;
    if (hue < 0.0f) hue += 6.0f;
    to[i] = make_uchar3(30.0f * hue, 255.0f * range / most, most);
}

constexpr int WORDS = 8;

struct Descriptor {
    unsigned words[WORDS];
};

struct Match {
    unsigned index, first, second;
};

extern "C" __global__ __launch_bounds__(128)
void hamming_match(const Descriptor* __restrict__ features, const Descriptor* __restrict__ others,
                   Match* __restrict__ to, int count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Descriptor feature = features[i];
    Match best = {0xffffffff, 0xffffffff, 0xffffffff};
    for (int index = 0; index < count; index++) {
        unsigned distance = 0;
#pragma unroll
        for (int k = 0; k < WORDS; k++)
            distance += __popc(feature.words[k] ^ others[index].words[k]);
        if (distance < best.first) {
            best.second = best.first;
            best.first = distance;
            best.index = index;
        } else if (distance < best.second) {
            best.second = distance;
        }
    }
    to[i] = best;
}
