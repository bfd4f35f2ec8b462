import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { PromptTemplate } from '@atrium-hq/client'
import { atrium, queries } from '../api'
import { useMutation } from '../app/mutation'
import { TYPING, useShown } from '../app/shown'
import { useCreating, useList, usePermission, useRoles, useWorkspace } from '../app/workspace'
import { t } from '../text'
import { words } from '../text/prompts'
import { Button, Empty, fieldErrors, Heading, Loading, Pill, Problem, When } from '../ui/basics'
import { Form, InlineSelect, Input, SearchBox, Select, TextArea } from '../ui/form'
import { AddIcon } from '../ui/icons'
import { Dialog } from '../ui/overlays'
import { More, Table } from '../ui/table'
import { Export, Import } from './prompt-files'
import { FolderShares } from './prompt-folder-shares'
import { ShareMany } from './prompt-share-many'
import { Start } from './start'

export function Prompts() {
  const workspace = useWorkspace()
  const may = usePermission()
  const roles = useRoles()
  const [typed, setTyped, asked] = useShown('q', '', TYPING)
  const [creating, setCreating] = useCreating()
  const [which, setWhich] = useShown('show')
  const deleted = which === 'deleted'
  const [importing, setImporting] = useState(false)
  const [sharing, setSharing] = useState(false)
  const [picked, setPicked] = useState<string[]>([])
  const [many, setMany] = useState<PromptTemplate[]>()
  const q = asked.trim()
  const list = useList(['prompts', workspace, deleted, q], (cursor) => atrium.promptTemplates.list(
    { limit: 50, ...(q && { q }), ...(deleted && { deleted }), ...(cursor && { cursor }) }, { workspace },
  ), undefined, true)
  const manages = (p: PromptTemplate) => ['manager', 'owner'].includes(p.my_role)
  const chosen = list.items.filter((p) => picked.includes(p.id) && manages(p))
  const choice = {
    title: words.choose, narrow: true,
    cell: (p: PromptTemplate) => manages(p) && (
      <input
        type="checkbox" aria-label={words.chooseName(p.name)} checked={picked.includes(p.id)}
        onChange={(e) => setPicked(e.target.checked ? [...picked, p.id] : picked.filter((id) => id !== p.id))}
      />
    ),
  }
  return (
    <>
      <Heading title={t.prompts}>
        <SearchBox value={typed} onChange={setTyped} />
        <InlineSelect
          label={t.show} value={deleted ? 'deleted' : ''} onChange={(e) => setWhich(e.target.value)}
          choices={[{ value: '', label: words.prompts }, { value: 'deleted', label: words.deletedPrompts }]}
        />
        {roles.includes('admin') && <Button onClick={() => setSharing(true)}>{words.shareAFolder}</Button>}
        <Export />
        {may('prompt_templates.create') && <Button onClick={() => setImporting(true)}>{t.import}</Button>}
        {may('prompt_templates.create') && <Button tone="act" data-key="c" onClick={() => setCreating(true)}><AddIcon size={16} aria-hidden="true" />{t.newPrompt}</Button>}
      </Heading>
      <Start />
      <Problem error={list.error} />
      {list.isPending && <Loading />}
      {list.isSuccess && list.items.length === 0 && (
        <Empty title={deleted ? words.thereAreNoDeleted : q ? words.noPromptMatches : words.thereAreNoPrompts}>
          {!q && !deleted && words.aPromptHasVersions}
        </Empty>
      )}
      {!deleted && chosen.length > 0 && (
        <div role="group" aria-label={words.chosenPrompts} className="mb-2 flex flex-wrap items-center gap-2">
          <span>{words.chosenCount(chosen.length)}</span>
          <Button onClick={() => setMany(chosen)}>{words.shareDialog}</Button>
          <Button tone="quiet" onClick={() => setPicked([])}>{words.chooseNone}</Button>
        </div>
      )}
      {list.items.length > 0 && (
        <Table
          label={t.prompts} items={list.items} id={(p) => p.id} csv="prompts"
          columns={deleted ? trash : [...columns(workspace), ...(list.items.some(manages) ? [choice] : [])]}
        />
      )}
      <More list={list} />
      {sharing && <FolderShares onClose={() => setSharing(false)} />}
      {many && <ShareMany prompts={many} onClose={() => { setMany(undefined); setPicked([]) }} />}
      {importing && <Import onClose={() => setImporting(false)} />}
      {creating && <Create onClose={() => setCreating(false)} />}
    </>
  )
}

const trash = [
  { title: t.name, text: (p: PromptTemplate) => p.name, cell: (p: PromptTemplate) => p.name },
  {
    title: words.deleted, narrow: true, text: (p: PromptTemplate) => p.deleted_at ?? '',
    cell: (p: PromptTemplate) => p.deleted_at && <When at={p.deleted_at} />,
  },
  { title: words.restore, narrow: true, text: () => '', cell: (p: PromptTemplate) => <Restore id={p.id} /> },
]

function Restore({ id }: { id: string }) {
  const workspace = useWorkspace()
  const restore = useMutation({
    mutationFn: () => atrium.promptTemplates.restore(id, { workspace }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['prompts'] }),
  })
  return <><Button disabled={restore.isPending} onClick={() => restore.mutate()}>{words.restore}</Button><Problem error={restore.error} /></>
}

const columns = (workspace: string) => [
  {
    title: t.name, text: (p: PromptTemplate) => p.name,
    cell: (p: PromptTemplate) => (
      <>
        <span className="flex flex-wrap items-center gap-1.5">
          <Link className="min-w-0 font-medium break-words" to={`/w/${workspace}/prompts/${p.id}` as string}>{p.name}</Link>
          {p.protected && <Pill tone="warn">{words.protected}</Pill>} {p.tags.map((tag) => <Pill key={tag}>{tag}</Pill>)}
        </span>
        {p.description && <p className="m-0 text-xs text-soft">{p.description}</p>}
      </>
    ),
  },
  {
    title: words.activeTitle, narrow: true, text: (p: PromptTemplate) => (p.active_version ? `v${p.active_version.number}` : ''),
    cell: (p: PromptTemplate) => p.active_version ? <Pill tone="ok">{words.versionNumberNumber(p.active_version.number)}</Pill> : <Pill>{words.none}</Pill>,
  },
  {
    title: words.versions, narrow: true, text: (p: PromptTemplate) => String(p.version_count),
    cell: (p: PromptTemplate) => p.version_count,
  },
  {
    title: t.seenBy, narrow: true, text: (p: PromptTemplate) => p.visibility,
    cell: (p: PromptTemplate) => (p.visibility === 'private' ? t.seenBySome : t.seenByAll),
  },
  {
    title: t.changedTitle, narrow: true, text: (p: PromptTemplate) => p.updated_at,
    cell: (p: PromptTemplate) => <When at={p.updated_at} />,
  },
]

function Create({ onClose }: { onClose: () => void }) {
  const workspace = useWorkspace()
  const navigate = useNavigate()
  const create = useMutation({
    mutationFn: async (v: Record<string, string>) => {
      const type = v.type === 'chat' ? 'chat' : 'text'
      const made = await atrium.promptTemplates.create(
        { name: v.name ?? '', type, visibility: v.visibility ?? 'workspace' }, { workspace },
      )
      if (v.text) {
        const content = type === 'chat' ? { messages: [{ role: 'system', content: v.text }] } : { text: v.text }
        await atrium.promptTemplates.versions.create(made.id, content, { workspace })
      }
      return made
    },
    onSuccess: async (made) => {
      await queries.invalidateQueries({ queryKey: ['prompts'] })
      void navigate({ to: `/w/${workspace}/prompts/${made.id}` as string })
    },
  })
  const wrong = fieldErrors(create.error)
  return (
    <Dialog open onClose={onClose} title={t.newPrompt}>
      <Form send={t.create} busy={create.isPending} onSend={(v) => create.mutate(v)}>
        <Input name="name" label={t.name} required maxLength={200} autoFocus error={wrong.name} hint={words.aMakesFoldersSupport} />
        <Select name="type" label={t.type} choices={[{ value: 'text', label: t.text }, { value: 'chat', label: words.chatMessages }]} />
        <Select
          name="visibility" label={t.seenBy}
          choices={[{ value: 'workspace', label: words.everybodyInTheWorkspace }, { value: 'private', label: words.thoseItIsShared }]}
        />
        <TextArea name="text" label={words.textOfTheFirst} rows={6} error={wrong.text} hint={words.variablesAreInDouble} />
        <Problem error={create.error} />
      </Form>
    </Dialog>
  )
}
