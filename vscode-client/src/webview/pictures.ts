/** Pictures that are pasted or dropped: brought to what models take, before they go to the extension. */

export const MAX_SIDE = 2000;
export const MAX_BYTES = 5 * 1024 * 1024;
const TAKEN = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const QUALITY = 0.85;
const THUMBNAIL = 32;

export interface Picture {
  mimeType: string;
  /** Base64. */
  data: string;
  bytes: number;
  width: number;
  height: number;
  thumbnail: HTMLCanvasElement;
}

/** The sides of a picture that is no larger than models take. */
export function fitted(width: number, height: number, side = MAX_SIDE): [number, number] {
  const scale = Math.min(1, side / Math.max(width, height));
  return [Math.max(1, Math.round(width * scale)), Math.max(1, Math.round(height * scale))];
}

/** Throws for what is no picture that can be shown. */
export async function prepare(file: Blob): Promise<Picture> {
  const bitmap = await createImageBitmap(file);
  try {
    const { width, height } = bitmap;
    const thumbnail = drawn(bitmap, ...fitted(width, height, THUMBNAIL));
    const isFine = TAKEN.has(file.type) && file.size <= MAX_BYTES && Math.max(width, height) <= MAX_SIDE;
    const taken = isFine ? file : await scaled(bitmap);
    const [shownWidth, shownHeight] = fitted(width, height);
    return { mimeType: taken.type, data: await base64(taken), bytes: taken.size, width: shownWidth, height: shownHeight, thumbnail };
  } finally {
    bitmap.close();
  }
}

function drawn(bitmap: ImageBitmap, width: number, height: number): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  canvas.getContext("2d")?.drawImage(bitmap, 0, 0, width, height);
  return canvas;
}

/** Without loss if that is small enough. */
async function scaled(bitmap: ImageBitmap): Promise<Blob> {
  const canvas = drawn(bitmap, ...fitted(bitmap.width, bitmap.height));
  for (const type of ["image/png", "image/jpeg"]) {
    const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, type, QUALITY));
    if (blob !== null && blob.size <= MAX_BYTES) return blob;
  }
  throw new Error("too large");
}

function base64(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(String(reader.result).split(",", 2)[1] ?? ""));
    reader.addEventListener("error", () => reject(reader.error ?? new Error("not readable")));
    reader.readAsDataURL(blob);
  });
}
