import { useMutation as useLibraryMutation, type UseMutationOptions, type UseMutationResult } from '@tanstack/react-query'
import { useLayoutEffect, useRef } from 'react'

/**
 * The library's useMutation, with the functions of what is on the page. The library takes them over only some time after
 * the page shows what they were made for. A click in between would send, for example, the ETag of the state before.
 */
export function useMutation<Data = unknown, Variables = void>(
  options: UseMutationOptions<Data, Error, Variables>,
): UseMutationResult<Data, Error, Variables> {
  const shown = useRef(options)
  useLayoutEffect(() => { shown.current = options })
  return useLibraryMutation({
    ...options,
    mutationFn: (...given) => shown.current.mutationFn!(...given),
    onSuccess: (...given) => shown.current.onSuccess?.(...given),
  })
}
