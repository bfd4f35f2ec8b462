import type { ChatTemplate, ChatTheme } from '@atrium-hq/client'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { atrium, base, queries } from '../api'
import { useMutation } from '../app/mutation'
import { useParam, useWorkspace } from '../app/workspace'
import { t } from '../text'
import { words } from '../text/chats'
import { Button, Card, fieldErrors, Heading, Loading, Problem } from '../ui/basics'
import { Input, Select } from '../ui/form'

const colors = [['primary', words.buttonsAndVisitors], ['background', words.background], ['surface', words.answers], ['text', t.text]] as const

/** The colours of the widget where a theme has none (embed.css). */
const defaults = {
  light: { primary: '#4453e0', background: '#ffffff', surface: '#f1f3f8', text: '#1c1f26' },
  dark: { primary: '#4453e0', background: '#1a1d24', surface: '#262b36', text: '#eef0f5' },
}

/** Edits how a chat looks. The draft beside it shows each change at once. */
export function Look({ chat, mayEdit }: { chat: ChatTemplate; mayEdit: boolean }) {
  const workspace = useWorkspace()
  const [theme, setTheme] = useState<ChatTheme>(chat.theme ?? {})
  const save = useMutation({
    mutationFn: () => atrium.chatTemplates.update(chat.id, { theme }, { workspace, ifMatch: chat }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['chat', chat.id] }),
  })
  const wrong = fieldErrors(save.error)
  const set = (part: Partial<ChatTheme>) => setTheme((now) => {
    const next = { ...now, ...part }
    return Object.fromEntries(Object.entries(next).filter(([, v]) => v !== undefined && v !== '')) as ChatTheme
  })
  const palette = (name: 'light' | 'dark', title: string) => (
    <fieldset className="m-0 mb-3 rounded-lg border border-line p-3" disabled={!mayEdit}>
      <legend className="px-1 font-medium">{title}</legend>
      {colors.map(([key, label]) => {
        const value = theme[name]?.[key]
        const change = (to: string | undefined) => {
          const { [key]: _, ...rest } = theme[name] ?? {}
          const next = to ? { ...rest, [key]: to } : rest
          set({ [name]: Object.keys(next).length > 0 ? next : undefined })
        }
        return (
          <div key={key} className="mb-1 flex items-center gap-2">
            <label className="flex grow items-center gap-2">
              <input type="color" value={value ?? theme.light?.[key] ?? defaults[name][key]} onChange={(e) => change(e.target.value)} className="h-7 w-10" />
              <span>{label}{!value && <span className="text-soft"> {words.default}</span>}</span>
            </label>
            {value && <Button tone="quiet" aria-label={words.defaultColourOf(label.toLowerCase(), name)} onClick={() => change(undefined)}>✕</Button>}
          </div>
        )
      })}
    </fieldset>
  )
  return (
    <div className="grid items-start gap-4 lg:grid-cols-2">
      <Card title={words.theme}>
        {palette('light', words.light)}
        {palette('dark', words.dark)}
        <Select
          label={words.lightOrDark} value={theme.scheme ?? 'page'} disabled={!mayEdit}
          onChange={(e) => set({ scheme: e.target.value as NonNullable<ChatTheme['scheme']> })}
          choices={[{ value: 'page', label: words.asThePage }, { value: 'auto', label: words.asTheVisitorsSystem }, { value: 'light', label: words.light }, { value: 'dark', label: words.dark }]}
        />
        <Input
          label={words.roundCorners} type="range" min={0} max={32} value={theme.radius ?? 16} disabled={!mayEdit}
          onChange={(e) => set({ radius: Number(e.target.value) })} error={wrong.radius}
        />
        <Input
          label={words.font} placeholder={words.systemUi} maxLength={200} value={theme.font ?? ''} disabled={!mayEdit} hint={words.aCssFontFamily}
          onChange={(e) => set({ font: e.target.value })} error={wrong.font}
        />
        <Select
          label={words.cornerOfTheButton} value={theme.position ?? 'right'} disabled={!mayEdit}
          onChange={(e) => set({ position: e.target.value as NonNullable<ChatTheme['position']> })}
          choices={[{ value: 'right', label: words.right }, { value: 'left', label: words.left }]}
        />
        <Problem error={save.error} />
        <div className="mt-3 flex gap-2">
          <Button tone="act" disabled={!mayEdit || save.isPending} onClick={() => save.mutate()}>{t.save}</Button>
          <Button disabled={!mayEdit} onClick={() => setTheme({})}>{words.defaultTheme}</Button>
        </div>
        <p className="mb-0 text-soft">{words.visitorsSeeItOnce}</p>
      </Card>
      <Card title={words.theDraft}><Draft chat={chat} theme={theme} /></Card>
    </div>
  )
}

/** The draft as visitors would see it, with a theme that is not saved yet. */
export function Draft({ chat, theme }: { chat: ChatTemplate; theme?: ChatTheme }) {
  const workspace = useWorkspace()
  const frame = useRef<HTMLIFrameElement>(null)
  const preview = useQuery({
    queryKey: ['chat preview', chat.id, chat.revision], queryFn: () => atrium.chatTemplates.preview(chat.id, { workspace }),
    staleTime: 9 * 60_000, refetchInterval: 9 * 60_000, // it lasts ten minutes
  })
  const dress = () => theme && frame.current?.contentWindow?.postMessage({ type: 'atrium:theme', theme }, location.origin)
  useEffect(() => { dress() })
  if (!preview.data) return preview.error ? <Problem error={preview.error} /> : <Loading />
  const scheme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'
  return (
    // oxlint-disable-next-line react/iframe-missing-sandbox -- the page is this server's, and calls it as such
    <iframe
      ref={frame} key={preview.data.session} title={words.theDraftAsVisitors} style={{ colorScheme: scheme }}
      onLoad={dress}
      src={new URL(`embed/preview#${new URLSearchParams({ session: preview.data.session, scheme, lang: 'en' })}`, base).href}
      className="block h-[32rem] w-full rounded-md border border-line"
    />
  )
}

/** What the link of a preview shows: the draft, to members who can see the chat. */
export function ChatPreview() {
  const workspace = useWorkspace()
  const id = useParam('id')
  const chat = useQuery({ queryKey: ['chat', id], queryFn: () => atrium.chatTemplates.get(id, { workspace }) })
  if (!chat.data) return chat.error ? <Problem error={chat.error} /> : <Loading />
  return (
    <>
      <Heading title={words.draftOf(chat.data.name)} />
      <Draft chat={chat.data} />
    </>
  )
}
