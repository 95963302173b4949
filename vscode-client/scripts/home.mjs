/** What the address of the clone's public remote (../hatch_build.py) makes of the extension's manifest and page. */

/** Where a host has the files of a repository's main branch. */
const FILES = { "github.com": "raw/HEAD", "codeberg.org": "raw/HEAD", "gitlab.com": "-/raw/HEAD" };
const FOLDER = "vscode-client";

/** A manifest that names where the project is at home; as it is without an address. */
export function withHome(manifest, { Homepage: homepage, Repository: repository, Issues: issues }) {
  if (repository === undefined) return manifest;
  return {
    ...manifest,
    homepage,
    repository: { type: "git", url: `${repository}.git`, directory: FOLDER },
    ...(issues === undefined ? {} : { bugs: { url: issues } }),
  };
}

/**
 * The README, whose pictures are loaded from where the project is at home. Without a place to load them from it has none:
 * VS Code's page of an extension shows neither files that lie beside the README nor pictures inside it.
 */
export function withPictures(readme, { Repository: repository }) {
  const files = repository === undefined ? undefined : FILES[new URL(repository).host];
  const picture = /^!\[([^\]]*)\]\((images\/[\w.-]+\.png)\)(\n+)/gm;
  return readme.replace(picture, files === undefined ? "" : `![$1](${repository}/${files}/${FOLDER}/$2)$3`);
}
