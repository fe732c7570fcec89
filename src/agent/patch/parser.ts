import { type Chunk, type Edit, type FileChange, type Patch, PatchError } from './changes.ts';

const BEGIN = '*** Begin Patch';
const END = '*** End Patch';
const ENVIRONMENT = '*** Environment ID:';
const MOVE = /^\*\*\* Move to: (\S.*)$/;
const END_OF_FILE = '*** End of File';
const HEADER = /^\*\*\* (Add|Delete|Update) File: (.+)$/;

const edits: Readonly<Record<string, Edit['kind']>> = { ' ': 'keep', '+': 'add', '-': 'remove' };

/** Reads the language of `apply_patch`; throws a `PatchError` that names the line. */
export function parsePatch(text: string): Patch {
  return new Parser(bodyOf(text)).patch();
}

/** The lines between the first and the last one, which are checked. */
function bodyOf(text: string): string[] {
  const lines = withoutHeredoc(linesOf(text.trim()));
  if (lines.length < 2 && lines[0] === '') throw invalid(`The last line of the patch must be '${END}'`);
  if (lines[0]?.trim() !== BEGIN) throw invalid(`The first line of the patch must be '${BEGIN}'`);
  if (lines.length < 2 || lines.at(-1)?.trim() !== END || lines.slice(0, -1).includes(END)) {
    throw invalid(`The last line of the patch must be '${END}'`);
  }
  return lines.slice(1, -1);
}

/** Removes the delimiters of a here-document, which models sometimes pass on with the patch. */
function withoutHeredoc(lines: string[]): string[] {
  const isWrapped = lines.length >= 4 && /^<<(?:EOF|'EOF'|"EOF")$/.test(lines[0]!) && lines.at(-1)!.endsWith('EOF');
  return isWrapped ? linesOf(lines.slice(1, -1).join('\n').trim()) : lines;
}

const linesOf = (text: string): string[] => text.split('\n').map((line) => line.replace(/\r$/, ''));

class Parser {
  readonly #lines: readonly string[];
  #at = 0;

  constructor(lines: readonly string[]) {
    this.#lines = lines;
  }

  patch(): Patch {
    const environmentId = this.#environmentId();
    const changes: FileChange[] = [];
    while (this.#line !== undefined) changes.push(this.#change());
    return { environmentId, changes };
  }

  get #line(): string | undefined {
    return this.#lines[this.#at];
  }

  #environmentId(): string | undefined {
    if (!this.#line?.startsWith(ENVIRONMENT)) return undefined;
    const id = this.#line.slice(ENVIRONMENT.length).trim();
    if (id === '') throw invalid('apply_patch environment_id cannot be empty');
    this.#at++;
    return id;
  }

  #change(): FileChange {
    const headerAt = this.#at;
    const line = this.#line!.trim();
    const [, kind, path] = HEADER.exec(line) ?? [];
    if (kind === undefined || path === undefined) throw this.#error(`'${line}' is not a valid hunk header. ${KNOWN}`);
    this.#at++;
    if (kind === 'Add') return { kind: 'add', path, content: this.#addedContent() };
    if (kind === 'Delete') return { kind: 'delete', path };
    const moveTo = MOVE.exec(this.#line ?? '')?.[1]?.trim();
    if (moveTo !== undefined) this.#at++;
    const chunks = this.#chunks();
    if (chunks.length === 0) throw this.#error(`Update file hunk for path '${path}' is empty`, headerAt);
    return { kind: 'update', path, moveTo, chunks };
  }

  #addedContent(): string {
    let content = '';
    for (; this.#line?.startsWith('+'); this.#at++) content += `${this.#line.slice(1)}\n`;
    return content;
  }

  #chunks(): Chunk[] {
    const chunks: Chunk[] = [];
    if (this.#line === END_OF_FILE) this.#at++; // misplaced, but harmless
    for (;;) {
      while (chunks.length > 0 && this.#line?.trim() === '') this.#at++;
      if (this.#line === undefined || HEADER.test(this.#line.trimEnd())) return chunks;
      chunks.push(this.#chunk(chunks.length === 0));
    }
  }

  #chunk(isFirst: boolean): Chunk {
    const context = /^@@(?: (.*))?$/.exec(this.#line!);
    if (context) this.#at++;
    else if (!isFirst)
      throw this.#error(`Expected update hunk to start with a @@ context marker, got: '${this.#line}'`);
    const edits = this.#edits();
    const isAtEnd = this.#line?.trimEnd() === END_OF_FILE;
    if (edits.length === 0) throw this.#noEdits(isAtEnd);
    if (isAtEnd) this.#at++;
    return { context: context?.[1] || undefined, edits, isAtEnd };
  }

  #edits(): Edit[] {
    const found: Edit[] = [];
    for (; this.#line !== undefined; this.#at++) {
      const kind = this.#line === '' ? 'keep' : edits[this.#line[0]!];
      if (kind === undefined) break;
      found.push({ kind, line: this.#line.slice(1) });
    }
    return found;
  }

  #noEdits(isAtEnd: boolean): PatchError {
    if (this.#line === undefined || isAtEnd || HEADER.test(this.#line.trimEnd())) {
      return this.#error('Update hunk does not contain any lines');
    }
    return this.#error(
      `Unexpected line found in update hunk: '${this.#line}'. ` +
        "Every line should start with ' ' (context line), '+' (added line), or '-' (removed line)",
    );
  }

  /** An error with the line number, counted from the line that begins the patch. */
  #error(message: string, at = this.#at): PatchError {
    return new PatchError(`invalid hunk at line ${at + 2}, ${message}`);
  }
}

const KNOWN = "Valid hunk headers: '*** Add File: {path}', '*** Delete File: {path}', '*** Update File: {path}'";

const invalid = (message: string): PatchError => new PatchError(`invalid patch: ${message}`);
