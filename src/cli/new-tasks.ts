/** Where the commands find what makes tasks of a text; the server makes them of the same. */
export { newTasksOf, taskMessagesIn, tasksOfMessages, titleOf } from '../runtime/new-tasks.ts';
