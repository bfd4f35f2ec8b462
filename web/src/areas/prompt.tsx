import { AtriumError, type PromptMessage, type PromptVersion, type PromptVersionSummary } from '@atrium-hq/client'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { atrium, queries } from '../api'
import { toast } from '../app/toast'
import { useDraft } from '../app/draft'
import { Up } from '../app/up'
import { useList, useParam, useWorkspace } from '../app/workspace'
import { t } from '../text'
import { Button, Heading, Loading, Pill, Problem } from '../ui/basics'
import { Diff, Editor } from '../ui/editor'
import { Form, InlineSelect, Input, Select, TextArea } from '../ui/form'
import { Menu } from '../ui/menu'
import { Dialog, Tabs } from '../ui/overlays'
import { Delete, Duplicate } from './prompt-more'
import { Ledger } from './prompt-history'
import { Outdated } from './prompt-outdated'
import { declared, Preview, variablesOf } from './prompt-preview'
import { Includes, includesIn, useWhole } from './prompt-includes'
import { Settings } from './prompt-settings'
import { Reads } from './prompt-reads'
import { Rollouts } from './prompt-rollouts'
import { Checks, Requests } from './prompt-requests'
import { PromptShares } from './prompt-shares'

/** What is edited of a version: its text, or its messages as JSON. */
function editedOf(v: PromptVersion | undefined): string {
  return v?.messages ? JSON.stringify(v.messages) : (v?.text ?? '')
}

/** What editedOf returned, as people read it. */
function readable(edited: string, isChat: boolean): string {
  if (!isChat || edited === '') return edited
  return (JSON.parse(edited) as PromptMessage[]).map((m) => `${m.role ?? m.placeholder}:\n${m.content ?? ''}`).join('\n\n')
}

/** The messages of a chat prompt, each in a field of its own. */
function Messages({ messages, onChange }: { messages: PromptMessage[]; onChange?: (messages: PromptMessage[]) => void }) {
  return messages.map((m, i) => m.placeholder
    ? <p key={i} className="my-3 text-soft">Here the application puts the messages <code>{m.placeholder}</code>.</p>
    : (
      <TextArea
        key={i} label={m.role ?? 'message'} rows={Math.min(12, (m.content ?? '').split('\n').length + 2)} value={m.content ?? ''}
        readOnly={!onChange}
        onChange={(e) => onChange?.(messages.map((old, j) => (j === i ? { ...old, content: e.target.value } : old)))}
      />
    ))
}

export function Prompt() {
  const workspace = useWorkspace()
  const id = useParam('id')
  const o = { workspace }
  const [ref, setRef] = useState('latest')
  const [tab, setTab] = useState('edit')
  const [activating, setActivating] = useState(false)
  const [labelling, setLabelling] = useState(false)
  const [more, setMore] = useState<'settings' | 'duplicate' | 'delete'>()
  const prompt = useQuery({ queryKey: ['prompt', id], queryFn: () => atrium.promptTemplates.get(id, o) })
  const versions = useList(['versions', id], (cursor) => atrium.promptTemplates.versions.list(id, { limit: 50, ...(cursor && { cursor }) }, o))
  const version = useQuery({
    queryKey: ['version', id, ref], enabled: (prompt.data?.version_count ?? 0) > 0,
    queryFn: () => atrium.promptTemplates.versions.get(id, ref, o),
  })
  const active = useQuery({
    queryKey: ['version', id, 'active'], enabled: !!prompt.data?.active_version,
    queryFn: () => atrium.promptTemplates.versions.get(id, 'active', o),
  })
  const whole = useWhole(version.data)
  const isChat = prompt.data?.type === 'chat'
  const stored = editedOf(version.data)
  // A draft survives a reload. It belongs to the version that it began with.
  const draftKey = `atrium_draft_${id}_${version.data?.id ?? 'none'}`
  const [draft, setDraft, forget] = useDraft(draftKey)
  // Whoever edits or activates a version keeps it on the screen, also when somebody saves a later one.
  const pin = () => {
    if (!version.data || ref !== 'latest') return
    queries.setQueryData(['version', id, 'v' + version.data.number], version.data)
    setRef('v' + version.data.number)
  }
  const type = (value: string) => {
    pin()
    setDraft(value === stored ? undefined : value)
  }
  const text = draft ?? stored
  const edited = draft === undefined ? undefined : isChat ? { messages: JSON.parse(draft) as PromptMessage[] } : { text: draft }
  const save = useMutation({
    mutationFn: ({ message, base }: { message: string; base?: string }) => atrium.promptTemplates.versions.create(id, {
      ...(isChat ? { messages: JSON.parse(text) as PromptMessage[] } : { text }),
      ...(version.data && {
        format: version.data.format, model_config: version.data.model_config, tools: version.data.tools,
        base_version_id: base ?? version.data.id,
        ...(declared(version.data) && { variables: variablesOf(version.data, edited) }),
        ...(version.data.response_format && { response_format: version.data.response_format }),
      }),
      ...(message && { commit_message: message }),
    }, o),
    onSuccess: async (made) => {
      forget()
      setRef('v' + made.number)
      await queries.invalidateQueries()
    },
  })
  if (!prompt.data) return prompt.error ? <Problem error={prompt.error} /> : <Loading />
  const mayEdit = prompt.data.my_role !== 'viewer'
  const manages = ['manager', 'owner'].includes(prompt.data.my_role)
  const mayMove = prompt.data.protected ? manages : mayEdit
  const mayActivate = mayMove || mayEdit && prompt.data.approvals > 0
  return (
    <>
      <Heading title={prompt.data.name} up={<Up to="prompts">{t.prompts}</Up>}>
        {prompt.data.active_version && <Pill tone="ok">active: v{prompt.data.active_version.number}</Pill>}
        {prompt.data.protected && <Pill tone="warn">protected</Pill>}
        {prompt.data.version_count > 0 && (
          <InlineSelect
            data-steps label="Version" value={ref} onChange={(e) => setRef(e.target.value)}
            choices={[
              { value: 'latest', label: 'latest' },
              ...versions.items.map((v) => ({
                value: 'v' + v.number,
                label: `v${v.number}${v.is_active ? ' · active' : ''}${v.labels.length ? ' · ' + v.labels.join(', ') : ''}${v.reads ? ` · ${v.reads.toLocaleString()} reads` : ''}`,
              })),
            ]}
          />
        )}
        <Menu
          items={[
            mayEdit && { label: 'Settings…', onClick: () => setMore('settings') },
            mayMove && { label: 'Labels…', disabled: !version.data, onClick: () => { pin(); setLabelling(true) } },
            { label: 'Duplicate…', onClick: () => setMore('duplicate') },
            prompt.data.my_role === 'owner' && { label: 'Delete…', danger: true, onClick: () => setMore('delete') },
          ]}
        />
        {mayActivate && (
          <Button
            tone="act" disabled={!version.data || version.data.is_active || draft !== undefined || (!!prompt.data.active_version && !active.data)}
            onClick={() => { pin(); setActivating(true) }}
          >
            Activate…
          </Button>
        )}
      </Heading>
      <Problem error={version.error} />
      <Tabs
        value={tab} onChange={setTab}
        tabs={[
          {
            id: 'edit', label: 'Edit',
            body: (
              <div className="grid gap-6 lg:grid-cols-2">
                <div className="min-w-0">
                  {draft !== undefined && (
                    <p className="mt-0 text-warn">
                      Not saved yet. <Button tone="quiet" onClick={() => type(stored)}>Discard</Button>
                    </p>
                  )}
                  {isChat
                    ? <Messages messages={text ? JSON.parse(text) as PromptMessage[] : []} {...(mayEdit && { onChange: (m: PromptMessage[]) => type(JSON.stringify(m)) })} />
                    : <Editor label="Prompt text" value={text} {...(mayEdit && { onChange: type })} />}
                  {mayEdit && (
                    <div className="mt-3">
                      <Form saves send="Save as a new version" busy={save.isPending || draft === undefined} onSend={(v) => save.mutate({ message: v.message ?? '' })}>
                        <Input name="message" label="What changed" maxLength={500} />
                        {AtriumError.is(save.error, 'base_outdated')
                          ? (
                            <Outdated
                              id={id} draft={readable(text, isChat)} read={(v) => readable(editedOf(v), isChat)}
                              onKeep={(base) => save.mutate({ message: save.variables?.message ?? '', base })}
                            />
                          )
                          : <Problem error={save.error} />}
                      </Form>
                    </div>
                  )}
                </div>
                {version.data && (
                  <div className="min-w-0">
                    {draft !== undefined && includesIn(readable(text, isChat))
                      ? <p className="mt-0 text-soft">{t.savedForIncludes}</p>
                      : <Preview version={whole.data ?? version.data} {...(edited && { draft: edited })} />}
                    <Problem error={whole.error} />
                    <Includes version={version.data} whole={whole.data} />
                  </div>
                )}
              </div>
            ),
          },
          {
            id: 'diff', label: 'Compare with active',
            body: <Diff before={readable(editedOf(active.data), isChat)} after={readable(text, isChat)} labels={['Active', draft === undefined ? ref : 'Your draft']} />,
          },
          { id: 'history', label: 'History', body: <><Ledger id={id} labels={[...new Set(versions.items.flatMap((v) => v.labels))].sort()} /><Reads id={id} /></> },
          ...(mayEdit
            ? [{ id: 'requests', label: prompt.data.open_requests > 0 ? `Requests (${prompt.data.open_requests})` : 'Requests', body: <Requests id={id} manages={manages} /> }]
            : []),
          ...(manages
            ? [{ id: 'shares', label: 'Shares', body: <PromptShares id={id} owner={prompt.data.my_role === 'owner'} /> }]
            : []),
        ]}
      />
      {more === 'settings' && <Settings prompt={prompt.data} onClose={() => setMore(undefined)} />}
      {more === 'duplicate' && <Duplicate prompt={prompt.data} onClose={() => setMore(undefined)} />}
      {more === 'delete' && <Delete prompt={prompt.data} onClose={() => setMore(undefined)} />}
      {labelling && version.data && (
        <Labels version={version.data} versions={versions.items} onClose={() => setLabelling(false)} />
      )}
      {activating && version.data && (
        <Activate
          version={version.data} active={prompt.data.active_version ? active.data : undefined} required={prompt.data.required_checks}
          manages={manages}
          onClose={() => setActivating(false)}
        />
      )}
    </>
  )
}

function Activate({ version, active: now, required, manages, onClose }: {
  version: PromptVersion
  active: PromptVersion | undefined
  required: string[]
  manages: boolean
  onClose: () => void
}) {
  const workspace = useWorkspace()
  const [seen] = useState(now)
  const activate = useMutation({
    mutationFn: ({ reason, expected, broken, at, bypass }: { reason: string; expected: string | null; broken: boolean; at: string; bypass: boolean }) => atrium.promptTemplates.versions.activate(
      version.prompt_template_id, version.id,
      {
        ...(reason && { reason }), expected_active_version_id: expected, acknowledge_contract_break: broken,
        ...(at && { activate_at: new Date(at).toISOString() }), ...(bypass && { bypass_checks: true }),
      }, { workspace },
    ),
    onSuccess: async ({ activation_request: asked }, { expected }) => {
      onClose()
      if (asked) toast(`The activation of v${version.number} waits for ${asked.waits_for.join(' and ')}.`)
      else toast(`v${version.number} is active.`, expected === null ? undefined : () => atrium.promptTemplates.versions.activate(
        version.prompt_template_id, expected, { reason: 'Undone', expected_active_version_id: version.id }, { workspace },
      ).then(() => queries.invalidateQueries()))
      await queries.invalidateQueries()
    },
    // Another version has become active meanwhile: the dialog compares with that one only now, and asks again.
    onError: () => queries.invalidateQueries(),
  })
  const active = activate.isError ? now : seen
  const broken = AtriumError.is(activate.error, 'contract_break')
  // A break is acknowledged only for the active version that it was found with.
  const expected = (broken ? activate.variables?.expected : active?.id) ?? null
  const names = (v: PromptVersion | undefined) => new Set(v?.variables.map((x) => x.name))
  const before = names(active), after = names(version)
  const added = [...after].filter((n) => !before.has(n)), gone = [...before].filter((n) => !after.has(n))
  const config = JSON.stringify(version.model_config, null, 2), activeConfig = JSON.stringify(active?.model_config ?? {}, null, 2)
  return (
    <Dialog open wide onClose={onClose} title={`Activate v${version.number}`}>
      <Diff before={readable(editedOf(active), !!version.messages)} after={readable(editedOf(version), !!version.messages)} labels={[active ? `Active: v${active.number}` : 'Nothing is active', `v${version.number}`]} />
      {active && added.length > 0 && <p className="text-bad">New variables, which applications must send: {added.join(', ')}</p>}
      {gone.length > 0 && <p className="text-warn">Variables that are no longer used: {gone.join(', ')}</p>}
      {active && config !== activeConfig && (
        <>
          <h3 className="mb-1 text-sm font-semibold">Model configuration</h3>
          <Diff before={activeConfig} after={config} labels={['Active', `v${version.number}`]} />
        </>
      )}
      <Checks id={version.prompt_template_id} version={version.id} required={required} />
      <Form
        send={broken ? 'Activate all the same' : 'Activate'} busy={activate.isPending}
        onSend={(v) => activate.mutate({ reason: v.reason ?? '', expected, broken, at: v.at ?? '', bypass: v.bypass === 'yes' })}
      >
        <Input name="reason" label="Why" maxLength={500} hint="Everybody who can see the prompt sees this in its history." />
        <Input name="at" type="datetime-local" label="When" hint="In your time zone. Empty: as soon as nothing is missing." />
        {manages && required.length > 0 && (
          <Select
            name="bypass" label="Required checks" hint="Bypassing them needs a reason, and is recorded."
            choices={[{ value: 'no', label: 'Wait for them' }, { value: 'yes', label: 'Bypass them' }]}
          />
        )}
        <Problem error={activate.error} />
        {broken && <Breaks error={activate.error} />}
      </Form>
    </Dialog>
  )
}

/** How applications could fail with a version. */
function Breaks({ error }: { error: unknown }) {
  const breaks = error instanceof AtriumError ? error.problem.breaks ?? [] : []
  return <ul>{breaks.map((b, i) => <li key={i}><code>{b.name || b.member}</code>: {b.detail}</li>)}</ul>
}

/** Moves one label to a version, or takes one of its labels away. */
function Labels({ version, versions, onClose }: {
  version: PromptVersion
  versions: PromptVersionSummary[]
  onClose: () => void
}) {
  const workspace = useWorkspace()
  const id = version.prompt_template_id
  const refresh = () => queries.invalidateQueries()
  const put = (label: string, to: string, from: string | null, reason: string) =>
    atrium.promptTemplates.labels.move(id, label, { version: to, expected_version: from, ...(reason && { reason }) }, { workspace })
  const divide = (label: string, first: string, percent: number, reason: string) =>
    atrium.promptTemplates.labels.rollOut(id, label, {
      versions: [{ version: first, weight: 100 - percent }, { version: version.id, weight: percent }], ...(reason && { reason }),
    }, { workspace })
  const take = (label: string) => atrium.promptTemplates.labels.remove(id, label, { expected_version: version.id }, { workspace })
  const move = useMutation({
    mutationFn: async ({ label, reason, percent }: { label: string; reason: string; percent: number }) => {
      const from = versions.find((v) => v.labels.includes(label))?.id ?? null
      const part = percent > 0 && percent < 100
      if (part) await divide(label, from ?? 'active', percent, reason)
      else await put(label, version.id, from, reason)
      return { label, from, part }
    },
    onSuccess: ({ label, from, part }) => {
      if (part) return
      onClose()
      toast(`v${version.number} has the label ${label}.`, async () => {
        await (from === null ? take(label) : put(label, from, version.id, 'Undone'))
        await refresh()
      })
    },
    onSettled: refresh,
  })
  const remove = useMutation({
    mutationFn: take,
    onSuccess: (_, label) => {
      onClose()
      toast(`v${version.number} no longer has the label ${label}.`, () => put(label, version.id, null, 'Undone').then(refresh))
    },
    onSettled: refresh,
  })
  return (
    <Dialog open onClose={onClose} title={`Labels of v${version.number}`}>
      {version.labels.length === 0 && <p className="text-soft">This version has no labels.</p>}
      <ul className="m-0 mb-4 list-none p-0">
        {version.labels.map((label) => (
          <li key={label} className="mb-2 flex items-center justify-between gap-3">
            <Pill>{label}</Pill>
            <Button tone="quiet" disabled={remove.isPending} onClick={() => remove.mutate(label)}>Remove {label}</Button>
          </li>
        ))}
      </ul>
      <Problem error={remove.error} />
      <Rollouts id={id} />
      <Form send="Give the label" busy={move.isPending} onSend={(v) => move.mutate({ label: v.label ?? '', reason: v.reason ?? '', percent: Number(v.percent || 100) })}>
        <Input name="label" label="Label" required maxLength={36} pattern="[a-z0-9_.\-]{1,36}" hint="Another version that has the label loses it." />
        <Input name="percent" type="number" min={1} max={100} label="For percent of the readers" placeholder="100" hint="Below 100, applications that send a key read this version for so many keys, and the one that has the label for the others." />
        <Input name="reason" label="Why" maxLength={500} />
        <Problem error={move.error} />
      </Form>
    </Dialog>
  )
}
