import { Autocomplete } from '@base-ui/react/autocomplete'
import { useQuery } from '@tanstack/react-query'
import { useDeferredValue, useState } from 'react'
import { atrium } from '../api'
import { t } from '../text'
import { places } from './places'
import { firstPage, useMe, usePermission, useWorkspace } from './workspace'

/** Where the list of commands leads, and what kind of thing that is. */
interface Goal { label: string; kind: string; path: string; keys?: string }

/** The prompts, chats and sources whose name has a text. */
function useThings(typed: string): Goal[] {
  const workspace = useWorkspace()
  const q = useDeferredValue(typed.trim())
  const o = { workspace }
  const named = (name: string) => name.toLowerCase().includes(q.toLowerCase())
  const prompts = useQuery({
    queryKey: ['palette prompts', workspace, q], enabled: q.length > 0, staleTime: 10_000,
    queryFn: () => firstPage(atrium.promptTemplates.list({ limit: 8, q }, o)).then((page) => page.data),
  })
  const others = useQuery({
    queryKey: ['palette', workspace], enabled: q.length > 0, staleTime: 60_000,
    queryFn: async () => {
      const [chats, sources] = await Promise.all([
        firstPage(atrium.chatTemplates.list({ limit: 100 }, o)), firstPage(atrium.dataSources.list({ limit: 100 }, o)),
      ])
      return { chats: chats.data, sources: sources.data }
    },
  })
  if (q.length === 0) return []
  return [
    ...(prompts.data ?? []).map((p) => ({ label: p.name, kind: t.prompt, path: `prompts/${p.id}` })),
    ...(others.data?.chats ?? []).filter((c) => named(c.name)).slice(0, 8)
      .map((c) => ({ label: c.name, kind: t.chat, path: `chats/${c.id}` })),
    ...(others.data?.sources ?? []).filter((s) => named(s.name)).slice(0, 8)
      .map((s) => ({ label: s.name, kind: t.source, path: `sources/${s.id}` })),
  ]
}

/** The list of commands: screens, what can be done at once, and the things that have the typed text in their name. */
export function Goals({ go }: { go: (path: string) => void }) {
  const may = usePermission()
  const me = useMe()
  const [typed, setTyped] = useState('')
  const things = useThings(typed)
  const word = typed.trim().toLowerCase()
  const fixed = places.filter((p) => (!p.needs || may(p.needs)) && (!p.operator || me.data?.user.operator))
    .map((p): Goal => ({ label: p.label, kind: p.does ? t.action : t.screen, path: p.path, ...(p.key && { keys: `g ${p.key}` }) }))
    .filter((p) => p.label.toLowerCase().includes(word))
  const goals = [...fixed, ...things]
  return (
    <Autocomplete.Root
      open inline items={goals} filter={null} value={typed} onValueChange={setTyped} itemToStringValue={(g: Goal) => g.label}
      autoHighlight={t.always} keepHighlight
    >
      <Autocomplete.Input
        aria-label={t.goTo} placeholder={t.goTo}
        autoFocus // the dialog is there before this, and would leave the focus on its button
        className="mb-2 w-full rounded-md border border-edge bg-field px-2.5 py-2 text-ink placeholder:text-soft"
      />
      <Autocomplete.Empty><p className="m-0 px-2.5 text-soft empty:hidden">{goals.length === 0 && t.noMatch}</p></Autocomplete.Empty>
      <Autocomplete.List className="max-h-[60vh] overflow-y-auto">
        {(goal: Goal) => (
          <Autocomplete.Item
            key={goal.path + goal.label} value={goal} onClick={() => go(goal.path)}
            className="flex cursor-pointer items-center gap-3 rounded-md px-2.5 py-1.5 data-[highlighted]:bg-hover"
          >
            <span className="min-w-0 grow truncate">{goal.label}</span>
            <span aria-hidden="true" className="shrink-0 text-xs text-soft">{goal.keys ?? goal.kind}</span>
          </Autocomplete.Item>
        )}
      </Autocomplete.List>
    </Autocomplete.Root>
  )
}
