import { choice, each, listed, type ModelTask, parts, read, value } from './model-tasks-types.ts';

/** Tasks that read: collections, records, searches, context, graphs and runs. */

const notes = value('the collection', 'notes');
const manuals = value('the names of the collections', ['manuals']);
const byYear = each('the sort keys', { path: value('the pointer into the record', '/metadata/year') });
const people = value('the collection', 'people');
const question = value('the question in words', 'When do guests descale the kettle?');

export const readTasks: readonly ModelTask[] = [
  {
    words: 'Which collections are there, and which metadata of the notes has an index?',
    steps: [
      {
        words: 'list the names of the collections',
        tool: 'svc_collections_list_v1',
        with: {},
        finds: {
          holds: [
            ['items', 'manuals'],
            ['items', 'notes'],
            ['items', 'people'],
          ],
        },
      },
      {
        words: 'read the policy of a collection: which metadata paths have an index',
        tool: 'svc_collections_get_v1',
        with: { collection: read('the collection', 'items', 'notes') },
        finds: { holds: [['name', 'notes']], lists: { indexedMetadata: ['/metadata/year'] } },
      },
    ],
  },
  {
    words: 'How many records do the manuals hold, by which embedding model, and what is their policy?',
    steps: [
      {
        words: 'count the records of the collection by type and embedding model',
        tool: 'svc_collections_inspect_v1',
        with: {
          collection: value('the collection', 'manuals'),
          include: listed('add the part policy to the answer', 'policy'),
        },
        finds: {
          holds: [
            ['recordCount', 3],
            ['partitionKeyPath', '/partitionKey'],
          ],
        },
      },
    ],
  },
  {
    words: 'Find the three best notes about tea that are older than 2020.',
    steps: [
      {
        words: 'rank the records of one collection by keywords',
        tool: 'svc_records_search_v1',
        with: {
          collection: notes,
          query: value('the words', 'tea'),
          filter: parts('the condition that records meet', {
            path: value('the pointer into the record', '/metadata/year'),
            op: choice('comparison: older', 'lt'),
            value: value('the value to compare with', 2020),
          }),
          limit: value('at most so many hits', 3),
        },
        finds: { lists: { id: ['n-15', 'n-00', 'n-05'] } },
      },
    ],
  },
  {
    words: 'Read the whole of the best note about bread in 2013, and the hash of its version.',
    steps: [
      {
        words: 'find records of one collection by keywords',
        tool: 'svc_records_search_v1',
        with: {
          collection: notes,
          query: value('words, a phrase in quotes', '"bread in 2013"'),
        },
        finds: { lists: { id: ['n-13'] }, holds: [['content', 'How we made bread']] },
      },
      {
        words: 'read one record by its ids that a search returned',
        tool: 'svc_records_get_v1',
        with: {
          collection: notes,
          partitionKey: read('its partition key', 'partitionKey', 'n-13'),
          id: read('its id', 'id', 'bread in 2013'),
        },
        finds: {
          holds: [
            ['id', 'n-13'],
            ['text', 'Last words of 13.'],
            ['etag', 'rev:1'],
          ],
        },
      },
    ],
  },
  {
    words: 'What are the three newest memos of the partition old?',
    steps: [
      {
        words: 'list the records that meet conditions, in a sort order',
        tool: 'svc_records_query_v1',
        with: {
          collection: notes,
          filter: parts('the condition that records meet', {
            path: value('the pointer into the record', '/type'),
            value: value('the value to compare with', 'memo'),
          }),
          orderBy: each('the sort keys', {
            path: value('the pointer into the record', '/metadata/year'),
            direction: choice('the largest first', 'desc'),
          }),
          limit: value('at most so many records', 3),
          partitionKeys: value('only these partition keys', ['old']),
        },
        finds: { lists: { id: ['n-12', 'n-09', 'n-06'] } },
      },
    ],
  },
  {
    words: 'Which notes of 2015 or earlier are about tea or coffee?',
    steps: [
      {
        words: 'list the records that meet conditions with exact values and ranges',
        tool: 'svc_records_query_v1',
        with: {
          collection: notes,
          filter: parts('the condition that records meet', {
            combine: choice('of a group: all', 'all'),
            children: each(
              'the conditions of the group',
              {
                path: value('the pointer into the record', '/metadata/topic'),
                op: choice('comparison: among', 'in'),
                value: value('the list of values to compare with', ['tea', 'coffee']),
              },
              {
                path: value('the pointer into the record', '/metadata/year'),
                op: choice('comparison: at most', 'lte'),
                value: value('the value to compare with', 2015),
              },
            ),
          }),
        },
        finds: { lists: { id: ['n-15', 'n-00', 'n-01', 'n-05', 'n-06', 'n-10', 'n-11'] } },
      },
    ],
  },
  {
    words: 'Read the first 25 notes although they are long, and then the rest.',
    steps: [
      {
        words: 'list the records in a sort order',
        tool: 'svc_records_query_v1',
        with: { collection: notes, orderBy: byYear, limit: value('at most so many records', 25) },
        finds: {
          holds: [
            ['id', 'n-00'],
            ['id', 'n-12'],
          ],
        },
      },
      {
        words: 'list the records in a sort order',
        tool: 'svc_records_query_v1',
        with: {
          collection: notes,
          orderBy: byYear,
          limit: value('at most so many records', 25),
          answerOffset: read('the items to skip, to go on in a long answer', 'answerOffset'),
        },
        finds: { holds: [['id', 'n-24']] },
      },
      {
        words: 'list the records in a sort order',
        tool: 'svc_records_query_v1',
        with: {
          collection: notes,
          orderBy: byYear,
          continuationToken: read('read on from the previous answer', 'continuationToken'),
        },
        finds: { lists: { id: ['n-25', 'n-26', 'n-27', 'n-28', 'n-29'] } },
      },
    ],
  },
  {
    words: 'What happened in the run? Read two events, and go on with the rest.',
    steps: [
      {
        words: 'list the events of a run in order',
        tool: 'svc_execution_get_run_history_v1',
        with: { runId: read('the id of the run', 'runId'), limit: value('at most so many events', 2) },
        finds: { lists: { type: ['run.created', 'lease.acquired'] } },
      },
      {
        words: 'list the events of a run in order',
        tool: 'svc_execution_get_run_history_v1',
        with: {
          runId: read('the id of the run', 'runId'),
          afterSequenceId: read(
            'later events than the last of the previous answer',
            'sequenceId',
            'lease.acquired',
          ),
        },
        finds: { lists: { type: ['run.started', 'run.completed'] } },
      },
    ],
  },
  {
    words: 'Which set of defaults suits questions in other words? Search the manuals with it.',
    steps: [
      {
        words: 'list the sets of defaults for searches',
        tool: 'svc_retrieval_list_profiles_v1',
        with: {},
        finds: {
          holds: [
            ['id', 'discovery'],
            ['id', 'evidence'],
          ],
        },
      },
      {
        words: 'rank the records of several collections for a question',
        tool: 'svc_retrieval_retrieve_v1',
        with: {
          query: question,
          collections: manuals,
          profile: read('the id of the set of defaults', 'id', 'Product optimization'),
          include: listed('add the part diagnostics to the answer', 'diagnostics'),
        },
        finds: { holds: [['searchMode', 'hybrid']] },
      },
    ],
  },
  {
    words: 'Which text of the kitchen is nearest in meaning to a question that shares no word with it?',
    steps: [
      {
        words: 'rank the records of several collections for a question by meaning',
        tool: 'svc_retrieval_retrieve_v1',
        with: {
          query: value('the question in words', 'bicycle gears'),
          collections: manuals,
          searchMode: choice('compare the meanings', 'vector'),
          filter: parts('the condition that records meet', {
            path: value('the pointer into the record', '/metadata/documentId'),
            value: value('the value to compare with', 'oven'),
          }),
          include: listed('add the part texts to the answer', 'texts'),
        },
        finds: { lists: { rank: [1] }, holds: [['content', 'Last words of the oven.']] },
      },
    ],
  },
  {
    words: 'Answer from the manuals when to descale the kettle: at most 100 characters, with a citation.',
    steps: [
      {
        words: 'answer a question from the stored texts with citations',
        tool: 'svc_rag_build_context_v1',
        with: {
          query: question,
          collections: manuals,
          maxChars: value('at most so many characters of all chunks', 100),
        },
        finds: { lists: { citationIds: ['c1'] }, holds: [['text', 'Descale it with vinegar each month.']] },
      },
    ],
  },
  {
    words: 'Write a prompt for another model that answers in French from the manuals.',
    steps: [
      {
        words: 'write a prompt with chunks for another model',
        tool: 'svc_rag_build_prompt_v1',
        with: {
          query: question,
          collections: manuals,
          systemInstruction: value('the first instruction of the prompt', 'Answer in French.'),
          limit: value('at most so many chunks', 1),
        },
        finds: {
          holds: [
            ['prompt', 'Answer in French.'],
            ['prompt', 'vinegar each month'],
          ],
          without: [['prompt', '[c2]']],
        },
      },
    ],
  },
  {
    words: 'Which graph stores are there, and what are the limits of the one in collections?',
    steps: [
      {
        words: 'list the graph stores',
        tool: 'svc_graph_list_provider_shapes_v1',
        with: {},
        finds: {
          holds: [
            ['providerId', 'svc-collection'],
            ['providerId', 'local-sqlite'],
          ],
        },
      },
      {
        words: 'read one graph store with its limits',
        tool: 'svc_graph_get_provider_shape_v1',
        with: { providerId: read('its provider id', 'providerId', 'svc_collection') },
        finds: { lists: { limitations: ['graph_traversal_may_be_adapter_level'] } },
      },
    ],
  },
  {
    words: 'Whom does ada know, directly or over one other person, and not by work?',
    steps: [
      {
        words: 'walk over the edges of a graph from start nodes',
        tool: 'svc_graph_traverse_v1',
        with: {
          collection: people,
          startNodeIds: value('the ids of the first nodes', ['ada']),
          direction: choice('edges to follow: outgoing', 'outgoing'),
          maxDepth: value('at most so many edges between a start and a node', 2),
          predicates: value('only edges with these predicates', ['knows']),
        },
        finds: { lists: { label: ['ADA', 'BOB', 'CLEO'] } },
      },
    ],
  },
  {
    words: 'How large is the graph of people, and can it help a search of the manuals?',
    steps: [
      {
        words: 'count the nodes, edges and reviews of a small graph',
        tool: 'svc_graph_inspect_collection_v1',
        with: { collection: people },
        finds: {
          holds: [
            ['nodeCount', 5],
            ['edgeCount', 5],
          ],
        },
      },
      {
        words: 'check whether a graph can help a search of another collection',
        tool: 'svc_graph_doctor_collection_v1',
        with: {
          collection: people,
          targetCollection: value('the collection whose records name nodes', 'manuals'),
          include: listed('add the part inspection to the answer', 'inspection'),
        },
        finds: {
          holds: [
            ['targetCollection', 'manuals'],
            ['danglingEdgeCount', 0],
          ],
        },
      },
    ],
  },
];
