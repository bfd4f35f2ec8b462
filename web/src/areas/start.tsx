import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { atrium } from '../api'
import { firstPage, usePermission, useWorkspace } from '../app/workspace'
import { keyOf } from '../person'
import { t } from '../text'
import { Button, Card } from '../ui/basics'

interface Step { title: string; about: string; path: string }

/** What to do first: with what is there, or, in an empty workspace, to have something. Who dismisses it is not asked again until they sign out. */
export function Start() {
  const workspace = useWorkspace()
  const may = usePermission()
  const dismissed = keyOf('started', workspace)
  const [shown, setShown] = useState(localStorage.getItem(dismissed) === null)
  const o = { workspace }
  const there = useQuery({
    queryKey: ['start', workspace], enabled: shown, staleTime: 60_000,
    queryFn: async () => {
      const [prompts, sources, chats] = await Promise.all([
        firstPage(atrium.promptTemplates.list({ limit: 20 }, o)), firstPage(atrium.dataSources.list({ limit: 20 }, o)),
        firstPage(atrium.chatTemplates.list({ limit: 20 }, o)),
      ])
      return {
        prompt: prompts.data.find((p) => p.latest_version && p.latest_version.id !== p.active_version?.id) ?? prompts.data[0],
        source: sources.data.find((s) => s.status === 'unmapped') ?? sources.data[0],
        chat: chats.data.find((c) => c.status === 'published') ?? chats.data[0],
      }
    },
  })
  if (!shown || !there.data || !may('prompt_templates.create')) return null
  const { prompt, source, chat } = there.data
  const steps: Step[] = [
    prompt
      ? { title: t.tryNameName(prompt.name), about: t.startTry, path: 'prompts/' + prompt.id }
      : { title: t.startPrompt, about: t.startPromptAbout, path: '' },
    ...(may('sources.create')
      ? [source
        ? { title: source.status === 'unmapped' ? t.mapNameName(source.name) : t.lookAt(source.name), about: t.startMap, path: 'sources/' + source.id }
        : { title: t.startSource, about: t.startMap, path: 'sources/new' }]
      : []),
    ...(may('chat_templates.create')
      ? [chat
        ? { title: t.embedNameName(chat.name), about: t.startEmbed, path: 'chats/' + chat.id }
        : { title: t.startChat, about: t.startEmbed, path: 'chats' }]
      : []),
    ...(may('api_keys.create') ? [{ title: t.startKey, about: t.startKeyAbout, path: 'settings/keys' }] : []),
  ]
  const dismiss = () => {
    localStorage.setItem(dismissed, '1')
    setShown(false)
  }
  return (
    <Card title={t.start} actions={<Button tone="quiet" className="-my-1 text-soft" onClick={dismiss}>{t.dismiss}</Button>}>
      <ol className="m-0 grid list-none gap-x-6 gap-y-3 p-0 sm:grid-cols-2 xl:grid-cols-4">
        {steps.map((s, i) => (
          <li key={s.title} className="min-w-0">
            <p className="m-0 font-medium break-words">
              {i + 1}. {s.path ? <Link to={`/w/${workspace}/${s.path}` as string}>{s.title}</Link> : s.title}
            </p>
            <p className="m-0 text-soft">{s.about}</p>
          </li>
        ))}
      </ol>
    </Card>
  )
}
