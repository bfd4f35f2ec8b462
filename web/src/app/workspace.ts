import { hashKey, type InfiniteData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
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
  const open = (useSearch({ strict: false }) as { new?: unknown }).new !== undefined
  const navigate = useNavigate()
  const search = (before: object) => ({ ...before, new: open ? undefined : true })
  return [open, (next) => { if (next !== open) void navigate({ to: '.', search: search as never, replace: open, resetScroll: false }) }]
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

const roles = ['viewer', 'member', 'admin', 'owner']

/** The roles in the workspace that the caller may give, and whose holders they may change: none above their own. */
export function useRoles(): string[] {
  const own = useMe().data?.role
  return roles.slice(0, roles.indexOf(own ?? '') + 1)
}

/** Reports whether something is the caller's own, or the caller has at least a role in the workspace. */
export function useOwns(): (owner: string | null, role: 'admin' | 'owner') => boolean {
  const me = useMe(), held = useRoles()
  return (owner, role) => held.includes(role) || !!owner && owner === me.data?.user.id
}

type Grown<T> = InfiniteData<{ data: T[]; next_cursor: string | null }, string | undefined>

/**
 * A list that grows by pages. What no event tells of is read again at an interval, in milliseconds. A list that is searched
 * stays until the next result is there: the last part of its key is what is searched for.
 */
export function useList<T>(
  key: readonly unknown[], load: (cursor: string | undefined) => PromiseLike<{ data: T[]; next_cursor: string | null }>, interval?: number,
  isSearched = false,
) {
  const list = useInfiniteQuery({
    queryKey: key, refetchInterval: interval ?? false,
    placeholderData: (before: Grown<T> | undefined, query: { queryKey: readonly unknown[] } | undefined) => (
      isSearched && query && hashKey(query.queryKey.slice(0, -1)) === hashKey(key.slice(0, -1)) ? before : undefined
    ),
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
