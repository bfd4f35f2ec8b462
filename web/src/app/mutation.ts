import { useMutation as useLibraryMutation, type UseMutationOptions, type UseMutationResult } from '@tanstack/react-query'
import { useLayoutEffect, useRef } from 'react'
import { queries } from '../api'

const later = (milliseconds: number) => new Promise((done) => setTimeout(done, milliseconds))

/** Resolves when the page shows the state after the last change: events can ask for it again while it is being read. */
let refresh: Promise<unknown> = Promise.resolve()

async function settled() {
  for (const end = Date.now() + 2000; queries.isFetching() > 0 && Date.now() < end;) await later(20)
  await later(20)
}

/**
 * The library's useMutation, with the functions of what is on the page. The library takes them over only some time after
 * the page shows what they were made for. A click in between would send, for example, the ETag of the state before. So
 * would a change right after another one, which waits until the page shows that one, or for two seconds.
 */
export function useMutation<Data = unknown, Variables = void>(
  options: UseMutationOptions<Data, Error, Variables>,
): UseMutationResult<Data, Error, Variables> {
  const shown = useRef(options)
  useLayoutEffect(() => { shown.current = options })
  return useLibraryMutation({
    ...options,
    mutationFn: async (...given) => {
      await refresh
      return shown.current.mutationFn!(...given)
    },
    onSuccess: (...given) => {
      const result = shown.current.onSuccess?.(...given)
      refresh = settled()
      return result
    },
  })
}
