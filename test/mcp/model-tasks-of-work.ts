import { each, listed, type Members, type ModelTask, parts, read, value } from './model-tasks-types.ts';
import { HANDLER, SCOPE } from './model-tasks-world.ts';

/** Tasks that start durable work, and read on from its result. */

const manuals = value('the collection', 'manuals');
const collections = value('the names of the collections', ['manuals']);
const partition = value('the partition of the chunks', 'cellar');

const letters = {
  collection: value('the collection', 'letterbox'),
  records: each(
    'the records',
    {
      id: value('the id within the partition', 'l-1'),
      partitionKey: value('the group of the record', 'letters'),
      type: value('the type of the record', 'letter'),
      content: value('the members such as a text', { text: 'Dear Ada' }),
    },
    {
      id: value('the id within the partition', 'l-2'),
      partitionKey: value('the group of the record', 'letters'),
      metadata: value('the members for conditions', { year: 1843 }),
    },
  ),
  idempotencyKey: value(
    'the name of this work, so that a second call starts nothing new',
    'letters of TRIAL',
  ),
};

const importOf = (id: string, more: Members): Members => ({
  collection: value('the name of the collection to write', 'cookbook.TRIAL'),
  snapshot: parts('the export', {
    policy: parts('its policy', { name: value('the name of the collection', 'recipes') }),
    records: each('its records', {
      id: value('the id within the partition', id),
      partitionKey: value('the group of the record', 'sweet'),
      ...more,
    }),
  }),
  allowCollectionRename: value('the export may have another name', true),
});

export const workTasks: readonly ModelTask[] = [
  {
    words:
      'Start a run of the handler for invoices in the chain may-2026, say its result, and what its input was.',
    steps: [
      {
        words: 'start a run of a handler',
        tool: 'svc_execution_start_run_v1',
        with: {
          handlerId: value('the id of the handler', HANDLER),
          payload: value('the input of the handler', { month: 'May' }),
          scope: value('the product and tenant of the run', SCOPE),
          advanced: parts('', { correlationId: value('the chain of the caller', 'may-2026') }),
        },
        works: true,
        finds: {
          holds: [
            ['status', 'succeeded'],
            ['rendered', { month: 'May' }],
            ['correlationId', 'may-2026'],
          ],
        },
      },
      {
        words: 'read a run: its status and result',
        tool: 'svc_execution_get_run_v1',
        with: {
          runId: read('the id of the run, from the answer that started it', 'id', HANDLER),
          include: listed('add the part payload to the answer', 'payload'),
        },
        finds: {
          holds: [
            ['payload', { month: 'May' }],
            ['status', 'succeeded'],
          ],
        },
      },
    ],
  },
  {
    words:
      'Restore the export of the recipes under another name, then another export in place of it, and look.',
    steps: [
      {
        words: 'import an exported collection to copy it',
        tool: 'svc_collections_start_import_job_v1',
        with: importOf('waffles', {}),
        finds: {
          holds: [
            ['status', 'succeeded'],
            ['id', 'waffles'],
            ['partitionKey', 'sweet'],
          ],
        },
      },
      {
        words: 'import an exported collection to copy it',
        tool: 'svc_collections_start_import_job_v1',
        with: {
          ...importOf('pancakes', { content: value('the members such as a text', { text: 'Three eggs.' }) }),
          replaceExisting: value('replace an existing collection with all its records', true),
        },
        finds: {
          holds: [
            ['status', 'succeeded'],
            ['id', 'pancakes'],
            ['partitionKey', 'sweet'],
          ],
        },
      },
      {
        words: 'list the records that meet conditions',
        tool: 'svc_records_query_v1',
        with: { collection: read('the collection', 'collection') },
        finds: { lists: { id: ['pancakes'] }, holds: [['content', 'Three eggs.']] },
      },
    ],
  },
  {
    words: 'Store two letters, make sure that a second call writes nothing new, and read them.',
    steps: [
      {
        words: 'write records: create or replace each',
        tool: 'svc_records_start_batch_upsert_job_v1',
        with: letters,
        finds: {
          holds: [
            ['succeeded', 2],
            ['id', 'l-1'],
            ['id', 'l-2'],
          ],
        },
      },
      {
        words: 'write records: create or replace each',
        tool: 'svc_records_start_batch_upsert_job_v1',
        with: letters,
        finds: { repeats: ['createdAt', 'completedAt'], holds: [['succeeded', 2]] },
      },
      {
        words: 'list the records that meet conditions',
        tool: 'svc_records_query_v1',
        with: { collection: value('the collection', 'letterbox') },
        finds: {
          lists: { id: ['l-1', 'l-2'] },
          holds: [
            ['content', 'Dear Ada'],
            ['metadata', { year: 1843 }],
            ['type', 'letter'],
          ],
        },
      },
    ],
  },
  {
    words: 'Store the manual of the boiler as one document, and answer from it how to bleed the boiler.',
    steps: [
      {
        words: 'store the text of one document for searches by meaning, cut into chunks',
        tool: 'svc_rag_start_ingestion_text_job_v1',
        with: {
          collection: manuals,
          partitionKey: partition,
          text: value('the whole text', 'Bleed the boiler each autumn.'),
          documentId: value('the id of the document', 'boiler'),
          metadata: value('the metadata of every chunk', { shelf: 'TRIAL' }),
          sourceUri: value('the address of the document', 'https://boilers.example/manual'),
        },
        finds: {
          holds: [
            ['status', 'succeeded'],
            ['documentId', 'boiler'],
            ['chunkCount', 1],
          ],
        },
      },
      {
        words: 'answer a question from the stored texts with citations',
        tool: 'svc_rag_build_context_v1',
        with: {
          query: value('the question in words', 'bleed boiler'),
          collections,
          filter: parts('the condition that records meet', {
            path: value('the pointer into the record', '/metadata/shelf'),
            value: value('the value to compare with', 'TRIAL'),
          }),
        },
        finds: {
          lists: { rank: [1] },
          holds: [
            ['text', 'Bleed the boiler each autumn.'],
            ['uri', 'https://boilers.example/manual'],
          ],
        },
      },
    ],
  },
  {
    words: 'Store the manuals of the mop and of the broom in one go.',
    steps: [
      {
        words: 'store several texts for searches by meaning',
        tool: 'svc_rag_start_ingestion_batch_job_v1',
        with: {
          collection: manuals,
          items: each(
            'the documents',
            {
              partitionKey: partition,
              text: value('the whole text', 'Wring the mop.'),
              documentId: value('the id of the document', 'mop'),
            },
            {
              partitionKey: partition,
              text: value('the whole text', 'Shake the broom.'),
              documentId: value('the id of the document', 'broom'),
            },
          ),
        },
        finds: {
          holds: [
            ['succeeded', 2],
            ['documentId', 'mop'],
            ['documentId', 'broom'],
          ],
        },
      },
    ],
  },
];
