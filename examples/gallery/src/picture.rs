//! Pictures, animations and plots, and their encoding as PNG.

use crate::Outcome;
use std::collections::BTreeMap;
use std::io::Write;

/// Red, green and blue.
pub type Color = [u8; 3];

/// The background of plots.
pub const PAPER: Color = [255, 255, 255];
/// Axes and frames.
pub const INK: Color = [60, 60, 70];

/// A picture, or an animation if it has more than one frame.
pub struct Picture {
    width: usize,
    height: usize,
    frames: Vec<Vec<Color>>,
    /// Hundredths of a second that a frame is shown for.
    delay: u16,
}

impl Picture {
    /// Creates a picture of one frame with one color.
    #[must_use]
    pub fn new(width: usize, height: usize, color: Color) -> Picture {
        let mut picture = Picture::animation(width, height, 10);
        picture.push(vec![color; width * height]);
        picture
    }

    /// Creates an animation without frames. `delay` is in hundredths of a second.
    #[must_use]
    pub fn animation(width: usize, height: usize, delay: u16) -> Picture {
        Picture {
            width,
            height,
            frames: Vec::new(),
            delay,
        }
    }

    /// Adds a frame, row by row.
    ///
    /// # Panics
    /// Panics if the frame has another number of pixels than the picture.
    pub fn push(&mut self, frame: Vec<Color>) {
        assert_eq!(
            frame.len(),
            self.width * self.height,
            "the frame has the picture's size"
        );
        self.frames.push(frame);
    }

    /// Returns the number of columns.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn height(&self) -> usize {
        self.height
    }

    /// Returns the frames.
    #[must_use]
    pub fn frames(&self) -> &[Vec<Color>] {
        &self.frames
    }

    /// Sets a pixel of the last frame. Ignores pixels outside the picture.
    pub fn set(&mut self, x: isize, y: isize, color: Color) {
        let (Ok(x), Ok(y)) = (usize::try_from(x), usize::try_from(y)) else {
            return;
        };
        if x < self.width
            && y < self.height
            && let Some(frame) = self.frames.last_mut()
        {
            frame[y * self.width + x] = color;
        }
    }

    /// Fills a rectangle of the last frame.
    pub fn fill(&mut self, (x, y): (isize, isize), (width, height): (isize, isize), color: Color) {
        for row in y..y + height {
            for column in x..x + width {
                self.set(column, row, color);
            }
        }
    }

    /// Draws a line into the last frame.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), color: Color) {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let steps = dx.abs().max(dy.abs()).ceil().clamp(1.0, 1e5) as usize;
        for step in 0..=steps {
            let t = step as f64 / steps as f64;
            let (x, y) = (from.0 + t * dx, from.1 + t * dy);
            self.set(x.round() as isize, y.round() as isize, color);
        }
    }

    /// Copies an image of `width` columns into the last frame.
    pub fn paste(&mut self, (x, y): (isize, isize), width: usize, image: &[Color]) {
        for (i, &color) in image.iter().enumerate() {
            self.set(x + (i % width) as isize, y + (i / width) as isize, color);
        }
    }

    /// Encodes the picture as PNG: with a palette if it has at most 256 colors, and animated if it
    /// has more than one frame.
    ///
    /// # Errors
    /// Fails if `to` does, or if the picture is empty or too large for PNG.
    pub fn encode(&self, to: impl Write) -> Outcome {
        let mut encoder =
            png::Encoder::new(to, u32::try_from(self.width)?, u32::try_from(self.height)?);
        encoder.set_compression(png::Compression::High);
        encoder.set_depth(png::BitDepth::Eight);
        if self.frames.len() > 1 {
            encoder.set_animated(u32::try_from(self.frames.len())?, 0)?;
            encoder.set_frame_delay(self.delay, 100)?;
        }
        let palette = self.palette();
        if let Some(palette) = &palette {
            encoder.set_color(png::ColorType::Indexed);
            let colors: Vec<u8> = palette.keys().flatten().copied().collect();
            encoder.set_palette(colors);
            encoder.set_filter(png::Filter::NoFilter);
        } else {
            encoder.set_color(png::ColorType::Rgb);
        }
        let mut writer = encoder.write_header()?;
        for frame in &self.frames {
            let data: Vec<u8> = match &palette {
                Some(palette) => frame.iter().map(|color| palette[color]).collect(),
                None => frame.concat(),
            };
            writer.write_image_data(&data)?;
        }
        writer.finish()?;
        Ok(())
    }

    /// Returns the colors with their indices, in the order of the indices, if they are at most 256.
    fn palette(&self) -> Option<BTreeMap<Color, u8>> {
        let mut colors = BTreeMap::new();
        for color in self.frames.iter().flatten() {
            colors.insert(*color, 0);
            if colors.len() > 256 {
                return None;
            }
        }
        for (i, index) in colors.values_mut().enumerate() {
            *index = i as u8;
        }
        Some(colors)
    }
}

/// Returns the color at `t`, from 0 to 1, of a gradient through evenly spaced stops.
#[must_use]
pub fn gradient(stops: &[Color], t: f32) -> Color {
    let Some(last) = stops.len().checked_sub(2) else {
        return stops.first().copied().unwrap_or(INK);
    };
    let at = t.clamp(0.0, 1.0) * (last + 1) as f32;
    let first = (at as usize).min(last);
    let part = at - first as f32;
    let (a, b) = (stops[first], stops[first + 1]);
    [0, 1, 2].map(|i| (f32::from(a[i]) * (1.0 - part) + f32::from(b[i]) * part).round() as u8)
}
