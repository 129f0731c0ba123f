import { choice, each, type ModelTask, parts, read, value } from './model-tasks-types.ts';

/** Tasks that start the work of models and searches, and work on graphs. */

const people = value('the collection', 'people');
const collections = value('the names of the collections', ['manuals']);

const cases = each(
  'the cases: questions with the records that the search has to find',
  {
    request: parts('the search', {
      query: value('the question in words', 'descale the kettle'),
      collections: value('the collections of the list', ['manuals']),
    }),
    expected: each('the records that the search has to find', {
      id: read('the id of the record', 'id', 'Fill the kettle'),
    }),
  },
  {
    request: parts('the search', {
      query: value('the question in words', 'gears of a bicycle'),
      collections: value('the collections of the list', ['manuals']),
    }),
    expected: each('the records that the search has to find', {
      id: read('the id of the record', 'id', 'Heat the oven'),
    }),
  },
);

export const modelWorkTasks: readonly ModelTask[] = [
  {
    words: 'Compute the vectors of two texts that will be queries.',
    steps: [
      {
        words: 'compute embeddings: the vectors of texts',
        tool: 'svc_embeddings_start_job_v1',
        with: {
          texts: value('the texts', ['boiler', 'kettle']),
          purpose: choice('the use of the vectors: a query', 'query'),
        },
        finds: {
          holds: [
            ['succeeded', 2],
            ['purpose', 'query'],
            ['dimensions', 384],
          ],
        },
      },
    ],
  },
  {
    words: 'Ask the chat model of the provider to say hello, as research.',
    steps: [
      {
        words: 'run a capability of a provider, such as a chat model',
        tool: 'svc_providers_start_run_job_v1',
        with: {
          provider: value('the id of the provider', 'local-deterministic-ai'),
          capability: value('the capability of the provider: ai chat', 'ai.chat'),
          payload: value('the input of the capability', { messages: [{ role: 'user', content: 'hello' }] }),
          mode: choice('the purpose of the run: research', 'research'),
        },
        finds: {
          holds: [
            ['role', 'assistant'],
            ['content', 'hello'],
            ['mode', 'research'],
          ],
        },
      },
    ],
  },
  {
    words: 'Measure how well the search finds two expected records, and compare it with a search by meaning.',
    steps: [
      {
        words: 'rank the records of several collections for a question',
        tool: 'svc_retrieval_retrieve_v1',
        with: {
          query: value('the question in words', 'kettle oven guests'),
          collections,
          limit: value('at most so many hits', 2),
        },
        finds: {
          lists: { type: ['rag.chunk', 'rag.chunk'] },
          holds: [
            ['content', 'Fill the kettle'],
            ['content', 'Heat the oven'],
          ],
        },
      },
      {
        words: 'measure how well a search finds expected records',
        tool: 'svc_retrieval_start_evaluation_job_v1',
        with: { cases, defaultK: value('the number of first results to judge', 2) },
        finds: {
          holds: [
            ['hitCount', 1],
            ['k', 2],
          ],
        },
      },
      {
        words: 'compare settings of a search',
        tool: 'svc_retrieval_start_evaluation_comparison_job_v1',
        with: {
          cases,
          variants: each(
            'the settings to compare',
            { id: value('the name of the variant', 'words') },
            {
              id: value('the name of the variant', 'meaning'),
              searchMode: choice('the search mode vector', 'vector'),
            },
          ),
        },
        finds: {
          holds: [
            ['baselineVariantId', 'words'],
            ['id', 'meaning'],
            ['hitCount', 2],
          ],
        },
      },
    ],
  },
  {
    words: 'Store who grafted which tree, and walk from the old tree.',
    steps: [
      {
        words: 'store a graph of nodes and edges',
        tool: 'svc_graph_start_import_job_v1',
        with: {
          collection: value('the name of the collection', 'trees'),
          envelope: parts('the graph', {
            scope: parts('the identity of the graph', { graphId: value('the id of the graph', 'orchard') }),
            nodes: each(
              'the nodes of the graph',
              {
                id: value('the id of the node', 'old'),
                type: value('the type', 'tree'),
                label: value('the display name', 'Old pear'),
              },
              { id: value('the id of the node', 'young'), type: value('the type', 'tree') },
            ),
            edges: each('the edges of the graph', {
              id: value('the id of the edge', 'graft'),
              sourceId: value('the node at its start', 'old'),
              targetId: value('the node at its end', 'young'),
              predicate: value('the relation', 'graftedOn'),
            }),
          }),
        },
        finds: {
          holds: [
            ['nodeCount', 2],
            ['edgeCount', 1],
            ['graphId', 'orchard'],
            ['collection', 'trees'],
          ],
        },
      },
      {
        words: 'walk over the edges of a graph from start nodes',
        tool: 'svc_graph_traverse_v1',
        with: {
          collection: read('the collection', 'collection'),
          graphId: read('only this graph', 'graphId'),
          startNodeIds: value('the ids of the first nodes', ['old']),
        },
        finds: {
          holds: [
            ['graphId', 'orchard'],
            ['label', 'Old pear'],
            ['sourceId', 'old'],
            ['targetId', 'young'],
            ['predicate', 'graftedOn'],
          ],
        },
      },
    ],
  },
  {
    words:
      'Check the large graph of people in the background: its counts, and whether it helps searches of the manuals.',
    steps: [
      {
        words: 'count the nodes and edges of a large graph in the background',
        tool: 'svc_graph_start_inspection_job_v1',
        with: { collection: people },
        finds: {
          holds: [
            ['nodeCount', 5],
            ['edgeCount', 5],
            ['status', 'succeeded'],
          ],
        },
      },
      {
        words: 'check in the background whether a large graph can help a search',
        tool: 'svc_graph_start_doctor_job_v1',
        with: {
          collection: people,
          targetCollection: value('the collection whose records name nodes', 'manuals'),
        },
        finds: {
          holds: [
            ['status', 'succeeded'],
            ['targetCollection', 'manuals'],
            ['failureMode', 'seed_node_not_found'],
          ],
        },
      },
    ],
  },
];
