/** The disk of this machine, as the tree needs it. */
import { linkSync } from 'node:fs';
import { realDisk } from '../disk.ts';
import type { TreeDisk } from './aside.ts';

export const realTreeDisk: TreeDisk = { ...realDisk, link: linkSync };
