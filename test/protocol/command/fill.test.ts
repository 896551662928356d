/** Variables that are filled in while a line is decoded: within a parameter, held to its form, and nothing beside it. */
import { describe, expect, test } from 'vitest';
import { readCommand, substitute } from '../../../src/protocol/command/index.ts';
import { cpuMs } from '../../helpers/cpu.ts';

const read = (line: string, values: Record<string, string> = {}) => {
  const variables = new Map(Object.entries(values));
  return readCommand(line, { fill: (param) => substitute(param, variables).text });
};

describe('a variable', () => {
  test('with a default is one parameter, colons and all', () => {
    expect(read('#ASK:{{TOPIC:-auth}}').command?.params).toEqual(['auth']);
    expect(read('#REPORT:{{WHO:-all}}:{{WHAT:-a:b}}').command?.params).toEqual(['all', 'a:b']);
    expect(read('#LOCK:x{{A:-1}}y{{B:-2:3}}:{{T:-60}}')).toMatchObject({
      command: { params: ['x1y2:3', '60'] },
      problems: [],
    });
  });

  test('is held to the form of its parameter', () => {
    expect(read('#LOCK:x:{{T}}', { T: '60' }).problems).toEqual([]);
    expect(read('#LOCK:x:{{T}}', { T: 'soon' }).problems).toMatchObject([{ code: 'E002', path: '/params/1' }]);
    expect(read('#STATE:save:{{K}}:v', { K: 'a:b' }).problems).toMatchObject([{ code: 'E002', path: '/params/1' }]);
    expect(read('#ASK:{{K}}', { K: '' }).problems).toMatchObject([{ code: 'E002' }]);
  });

  test('is no modifier and chooses no form', () => {
    expect(read('#SUMMARY:x:{{M}}', { M: 'limit=1' }).command).toMatchObject({ params: ['x', 'limit=1'], limit: null });
    expect(read('#ROLLBACK:{{ID}}', { ID: 'status' }).problems).toMatchObject([{ code: 'E002', path: '/params/0' }]);
    expect(read('#ROLLBACK:{{ID}}', { ID: 'cp_001' }).problems).toEqual([]);
    expect(read('#STATE:{{SUB}}', { SUB: 'clear' }).problems).toMatchObject([{ code: 'E002' }]);
  });

  test('means nothing where nobody fills it in', () => {
    expect(readCommand('#SUMMARY:{{T:-x}}').command?.params).toEqual(['{{T', '-x}}']);
  });
});

test('a hundred thousand of them are read once', () => {
  const spent = cpuMs(() => {
    read(`#STATE:save:k:${'{{A:-'.repeat(100_000)}`);
    read(`#STATE:save:k:${'{{A:-b}}:'.repeat(50_000)}`);
  });
  expect(spent).toBeLessThan(3_000);
});
