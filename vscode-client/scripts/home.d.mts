export interface Home {
  Homepage?: string;
  Repository?: string;
  Issues?: string;
}
export function withHome<Manifest extends object>(
  manifest: Manifest,
  home: Home,
): Manifest & { homepage?: string; repository?: { type: string; url: string; directory: string }; bugs?: { url: string } };
export function withPictures(readme: string, home: Home): string;
