/** The candidate nearest to a mistyped word, for a "did you mean"; null if none is near, or if the word is empty. */
export function nearest(word: string, candidates: Iterable<string>): string | null {
  if (word === '') return null;
  let best: string | null = null;
  let bestDistance = Math.max(2, Math.floor(word.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase(), bestDistance);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** The end of a sentence that proposes another word; empty if there is none. */
export function didYouMean(near: string | null): string {
  return near === null ? '' : `. Did you mean ${near}?`;
}

/** The Levenshtein distance. Returns `limit` early if the lengths alone differ by so much. */
function editDistance(left: string, right: string, limit: number): number {
  if (Math.abs(left.length - right.length) >= limit) return limit;
  let previous = Array.from({ length: right.length + 1 }, (_, column) => column);
  let distance = right.length;
  for (let row = 1; row <= left.length; row++) {
    let diagonal = row - 1;
    distance = row;
    const current = [distance];
    for (const [column, above] of previous.slice(1).entries()) {
      const substitution = diagonal + (left[row - 1] === right[column] ? 0 : 1);
      distance = Math.min(substitution, above + 1, distance + 1);
      current.push(distance);
      diagonal = above;
    }
    previous = current;
  }
  return distance;
}
