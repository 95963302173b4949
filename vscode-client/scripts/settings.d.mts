export const TAG: string;
export interface Section {
  title: string;
  properties: Record<string, { scope: string; tags: string[]; markdownDescription: string; default?: unknown }>;
}
export function contributed(
  schema: { definitions: Record<string, { description: string }> },
  translations: Record<string, string>,
): { section: Section; english: Record<string, string>; german: Record<string, string> };
export function withSettings<Manifest extends { contributes: object }>(manifest: Manifest, section: Section): Manifest & { contributes: { configuration: Section[] } };
