import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { atrium } from '../api'

/** The slug or id of the workspace, which is in the address. */
export function useWorkspace(): string {
  return (useParams({ strict: false }) as { workspace: string }).workspace
}

/** A parameter of the address. */
export function useParam(name: string): string {
  return (useParams({ strict: false }) as Record<string, string>)[name] ?? ''
}

/** Whether the form for something new is open. It is a part of the address: links lead to it, and Back closes it. */
export function useCreating(): [boolean, (open: boolean) => void] {
  const open = 'new' in useSearch({ strict: false })
  const navigate = useNavigate()
  return [open, (next) => void navigate({ to: '.', search: (next ? { new: true } : {}) as never, replace: !next })]
}

export function useMe() {
  const workspace = useWorkspace()
  return useQuery({ queryKey: ['me', workspace], queryFn: () => atrium.me.get({ workspace }) })
}

/** Reports what the caller may do in the workspace, such as prompt_templates:create. */
export function usePermission(): (permission: string) => boolean {
  const me = useMe()
  return (permission) => me.data?.permissions.includes(permission) ?? false
}

/** A list that grows by pages. */
export function useList<T>(
  key: readonly unknown[], load: (cursor: string | undefined) => PromiseLike<{ data: T[]; next_cursor: string | null }>,
) {
  const list = useInfiniteQuery({
    queryKey: key,
    queryFn: async ({ pageParam }) => load(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
  return { ...list, items: list.data?.pages.flatMap((page) => page.data) ?? [] }
}

/** The first page of a list, as the promise that queries want. */
export async function firstPage<P>(list: PromiseLike<P>): Promise<P> {
  return list
}

/** Names the people of the workspace by their ids. Who is no member any more is an id. */
export function useNames(): (id: string) => string {
  const workspace = useWorkspace()
  const members = useQuery({
    queryKey: ['members', workspace], staleTime: 60_000,
    queryFn: () => firstPage(atrium.workspaces.members.list(workspace, { limit: 100 })).then((page) => page.data),
  })
  return (id) => {
    const found = members.data?.find((m) => m.user_id === id)
    return found?.name || found?.email || id
  }
}
