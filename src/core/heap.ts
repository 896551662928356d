/** A queue by order: what `before` says comes first, comes out first. */
export interface Heap<T> {
  readonly size: number;
  peek(): T | undefined;
  push(item: T): void;
  pop(): T | undefined;
}

export function createHeap<T>(before: (a: T, b: T) => boolean): Heap<T> {
  const items: T[] = [];
  const at = (i: number): T => items[i] as T;
  const swap = (i: number, j: number): void => {
    const item = at(i);
    items[i] = at(j);
    items[j] = item;
  };
  return {
    get size() {
      return items.length;
    },
    peek: () => items[0],
    push(item) {
      items.push(item);
      let i = items.length - 1;
      while (i > 0) {
        const parent = (i - 1) >> 1;
        if (!before(at(i), at(parent))) break;
        swap(i, parent);
        i = parent;
      }
    },
    pop() {
      const first = items[0];
      const last = items.pop();
      if (items.length === 0 || last === undefined) return first;
      items[0] = last;
      let i = 0;
      for (;;) {
        const left = 2 * i + 1;
        const right = left + 1;
        let least = i;
        if (left < items.length && before(at(left), at(least))) least = left;
        if (right < items.length && before(at(right), at(least))) least = right;
        if (least === i) return first;
        swap(i, least);
        i = least;
      }
    },
  };
}
