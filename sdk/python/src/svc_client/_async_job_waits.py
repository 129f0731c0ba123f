"""Waiting for the end of jobs, in the asynchronous client."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ._async_transport import AsyncLink
from ._generated.async_client import AsyncOperations
from ._options import AsyncCallOptions, check_call
from ._waiting import JobWait, is_working

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from ._generated import models

Job = TypeVar("Job", bound="Mapping[str, object]")


class AsyncJobWaits(AsyncOperations):
    """The operations, and one wait for each kind of job."""

    _link: AsyncLink

    async def wait_for_record_import_job(
        self, job_id: str, *, wait_timeout: float | None = None, options: AsyncCallOptions | None = None
    ) -> models.RecordImportJob | None:
        """Waits until the import or batch has ended and returns it, also a failed one; None if there is no such
        job. Raises `APITimeoutError` if `wait_timeout`, in seconds, passes first; the job then continues.
        Without `wait_timeout` the wait is unlimited. `options` apply to each read, `timeout` included."""
        read = partial(self.get_record_import_job, job_id)
        return await self._job("getRecordImportJob", read, wait_timeout, options)

    async def wait_for_embedding_job(
        self, job_id: str, *, wait_timeout: float | None = None, options: AsyncCallOptions | None = None
    ) -> models.EmbeddingJob | None:
        """Waits until the embedding job has ended and returns it, with its vectors if it has succeeded; None if there
        is no such job. Raises `APITimeoutError` if `wait_timeout`, in seconds, passes first; the job then continues.
        Without `wait_timeout` the wait is unlimited. `options` apply to each read, `timeout` included."""
        read = partial(self.get_embedding_job, job_id)
        return await self._job("getEmbeddingJob", read, wait_timeout, options)

    async def wait_for_provider_job(
        self, job_id: str, *, wait_timeout: float | None = None, options: AsyncCallOptions | None = None
    ) -> models.ProviderRunJob | None:
        """Waits until the provider job has ended and returns it, with the result also of a run that did not succeed;
        None if there is no such job. Raises `APITimeoutError` if `wait_timeout`, in seconds, passes first; the job then
        continues. Without `wait_timeout` the wait is unlimited. `options` apply to each read, `timeout` included."""
        read = partial(self.get_provider_job, job_id)
        return await self._job("getProviderRunJob", read, wait_timeout, options)

    async def wait_for_retrieval_evaluation_job(
        self, job_id: str, *, wait_timeout: float | None = None, options: AsyncCallOptions | None = None
    ) -> models.RetrievalEvaluationJob | None:
        """Waits until the evaluation or comparison has ended and returns it, with its result if it has succeeded; None
        if there is no such job. Raises `APITimeoutError` if `wait_timeout`, in seconds, passes first; the job then
        continues. Without `wait_timeout` the wait is unlimited. `options` apply to each read, `timeout` included."""
        read = partial(self.get_retrieval_evaluation_job, job_id)
        return await self._job("getRetrievalEvaluationJob", read, wait_timeout, options)

    async def wait_for_graph_job(
        self, job_id: str, *, wait_timeout: float | None = None, options: AsyncCallOptions | None = None
    ) -> models.GraphJob | None:
        """Waits until the graph job has ended and returns it, with its result if it has succeeded; None if there
        is no such job. Raises `APITimeoutError` if `wait_timeout`, in seconds, passes first; the job then continues.
        Without `wait_timeout` the wait is unlimited. `options` apply to each read, `timeout` included."""
        read = partial(self.get_graph_job, job_id)
        return await self._job("getGraphJob", read, wait_timeout, options)

    async def wait_for_rag_ingestion_job(
        self, job_id: str, *, wait_timeout: float | None = None, options: AsyncCallOptions | None = None
    ) -> models.RagIngestionJob | None:
        """Waits until the ingestion has ended and returns it, with the outcome of each chunk if it has succeeded; None
        if there is no such job. Raises `APITimeoutError` if `wait_timeout`, in seconds, passes first; the job then
        continues. Without `wait_timeout` the wait is unlimited. `options` apply to each read, `timeout` included."""
        read = partial(self.get_rag_ingestion_job, job_id)
        return await self._job("getRagIngestionJob", read, wait_timeout, options)

    async def _job(
        self,
        operation: str,
        read: Callable[..., Coroutine[Any, Any, Job | None]],
        wait_timeout: float | None,
        options: AsyncCallOptions | None,
    ) -> Job | None:
        options, world = check_call(options), self._link.world
        wait = JobWait.begin(operation, world.now(), wait_timeout)
        while True:
            job = await read(options=options)
            if job is None or not is_working(job):
                return job
            await world.sleep(wait.pause_after(world.now()))
