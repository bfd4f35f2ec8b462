import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useId, useRef, useState } from 'react'
import { AtriumError, type ConnectionKind, type ConnectionPreset, type ProbeCheck } from '@atrium-hq/client'
import { atrium, queries, watching } from '../api'
import { useMutation } from '../app/mutation'
import { firstPage, useParam, useWorkspace } from '../app/workspace'
import { Up } from '../app/up'
import { t } from '../text'
import { words } from '../text/connections'
import { Button, Card, Copy, fieldErrors, Heading, Loading, Pill, Problem } from '../ui/basics'
import { Form, Input, Select, TextArea } from '../ui/form'
import { ShownError } from '../ui/shown-error'
import { Checks } from './connections'
import { requestConsent } from './consent'

interface Property {
  title?: string
  description?: string
  type: string
  enum?: string[]
  default?: unknown
  examples?: string[]
  'x-secret'?: boolean
  'x-order'?: number
  'x-multiline'?: boolean
}

interface Schema { properties: Record<string, Property>; required?: string[] }

/** Fields that few need, and that are therefore folded away. */
const groups = [
  { prefix: 'aws_', others: ['cluster_identifier', 'workgroup_name'], title: words.withAnAwsKey },
  { prefix: 'tls_key', others: ['tls_cert'], title: words.withAClientCertificate },
  { prefix: 'cloud_sql_', others: [], title: words.withAServiceAccount },
  { prefix: 'ssh_', others: [], title: words.throughAnSshServer },
]

/** Fields for texts of several lines. */
const multiline = /(private_key|service_account_key|host_key|_ca|_cert|tls_key|headers)$/

/** What a probe found, in a success or in a problem. */
function probed(result: unknown, error: unknown): ProbeCheck[] | undefined {
  const from = AtriumError.is(error) ? error.problem : result
  return (from as { checks?: ProbeCheck[] } | undefined)?.checks
}

export function Connect() {
  const workspace = useWorkspace()
  const kind = useParam('kind')
  const { service: id } = useSearch({ strict: false }) as { service?: string }
  const list = useQuery({
    queryKey: ['connections', workspace, 'all'], queryFn: () => firstPage(atrium.connections.list({ limit: 100 }, { workspace })),
  })
  const found = list.data?.kinds.find((k) => k.kind === kind)
  if (!found) return list.isPending ? <Loading /> : <Problem error={list.error ?? new ShownError(words.thereIsNoSuch)} />
  const service = found.presets.find((p) => p.id === id)
  return <Wizard key={id} kind={found} service={service} addresses={list.data?.egress_addresses ?? []} />
}

function Wizard({ kind, service, addresses }: {
  kind: ConnectionKind
  service: ConnectionPreset | undefined
  addresses: string[]
}) {
  const workspace = useWorkspace()
  const navigate = useNavigate()
  const form = useRef<HTMLDivElement>(null)
  const schema = kind.credential_schema as unknown as Schema
  const forService = (name: string, p: Property): Property => ({
    ...p, default: service?.defaults[name] ?? p.default, ...(name === 'host' && service && { examples: [service.host] }),
  })
  const fields = Object.entries(schema.properties).sort((a, b) => (a[1]['x-order'] ?? 0) - (b[1]['x-order'] ?? 0))
    .map(([name, p]): [string, Property] => [name, forService(name, p)])
  const body = (v: Record<string, string>) => ({
    kind: kind.kind, ...(v.connection_name && { name: v.connection_name }),
    credential: Object.fromEntries(fields.flatMap(([name, p]) => {
      const value = v['credential.' + name] ?? ''
      if (value === '') return []
      return [[name, p.type === 'integer' ? Number(value) : p.type === 'boolean' ? value === 'true' : value]]
    })),
  })
  const [steps, setSteps] = useState<ProbeCheck[]>([])
  const probe = (v: Record<string, string>, query: { dry_run?: boolean }) => {
    setSteps([])
    return watching((c) => setSteps((before) => [...before, c])).connections.create(body(v), query, { workspace })
  }
  const trial = useMutation({ mutationFn: (v: Record<string, string>) => probe(v, { dry_run: true }) })
  const store = useMutation({
    mutationFn: (v: Record<string, string>) => probe(v, {}),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['connections'] })
      void navigate({ to: `/w/${workspace}/connections` as string })
    },
  })
  const consent = useMutation({
    mutationFn: () => {
      const { connection_name: name } = values()
      return requestConsent({ workspace, kind: kind.kind, ...(name && { name }) })
    },
  })
  const error = store.error ?? trial.error
  const checks = probed(trial.data, error) ?? (steps.length > 0 ? steps : undefined)
  const failure = AtriumError.is(error) ? (error.problem as { failure?: { hint: string; fields: string[] } }).failure : undefined
  const wrong = { ...fieldErrors(error), ...Object.fromEntries((failure?.fields ?? []).map((f) => [f, failure!.hint])) }
  const group = (name: string) => groups.find((g) => name.startsWith(g.prefix) || (g.others as string[]).includes(name))
  // The secrets of a group are in a form of their own: in one form, browsers take two passwords for two sign-ins.
  const forms = useId()
  const field = ([name, p]: [string, Property]) => (
    <Field
      key={name} name={name} property={p} required={schema.required?.includes(name) ?? false} error={wrong[name]}
      {...(group(name) && { form: forms + group(name)!.prefix })}
    />
  )
  const busy = trial.isPending || store.isPending
  const values = () => {
    const all: Record<string, string> = {}
    for (const part of form.current!.querySelectorAll('form')) {
      for (const [name, value] of new FormData(part)) if (typeof value === 'string') all[name] = value
    }
    return all
  }
  return (
    <>
      <Heading title={words.connectTitleTitle(service?.title ?? kind.title)} up={<Up to="connections">{t.connections}</Up>} />
      <div className="grid gap-4 lg:grid-cols-2">
        <Card>
          {service && (
            <p className="mt-0">
              {service.advice} <a href={service.docs_url} target="_blank" rel="noopener">{words.documentationOf(service.title)}</a>
            </p>
          )}
          {kind.consent && (
            <>
              <p className="mt-0">{words.aPersonConsents}</p>
              <Button tone="act" disabled={consent.isPending} onClick={() => consent.mutate()}>{words.connectWithGoogle}</Button>
              <Problem error={consent.error} />
              <h2 className="mt-6 text-base">{words.orAServiceAccount}</h2>
            </>
          )}
          <div ref={form}>
            <Form
              send={words.connect} busy={busy} onSend={() => { trial.reset(); store.mutate(values()) }}
              more={<Button disabled={busy} onClick={() => { store.reset(); trial.mutate(values()) }}>{trial.isPending ? words.tryingDialog : words.tryWithoutStoring}</Button>}
            >
              <Input name="connection_name" label={t.name} maxLength={120} placeholder={kind.title} defaultValue={service?.title} />
              {fields.filter(([name]) => !group(name)).map(field)}
              {groups.map((g) => {
                const members = fields.filter(([name]) => group(name) === g)
                return members.length > 0 && (
                  <details key={g.prefix} open={members.some(([name]) => wrong[name]) || undefined}>
                    <summary className="mb-3 cursor-pointer">{g.title}</summary>
                    {members.map(field)}
                  </details>
                )
              })}
              <Problem error={error} />
            </Form>
            {groups.map((g) => (
              <form
                key={g.prefix} id={forms + g.prefix}
                onSubmit={(e) => { e.preventDefault(); form.current!.querySelector('form')!.requestSubmit() }}
              >
                <button type="submit" hidden>{words.connect}</button>
              </form>
            ))}
          </div>
        </Card>
        <div className="min-w-0">
          <Card title={words.theCheckStepBy}>
            {checks ? <Checks checks={checks} /> : <p className="m-0 text-soft">{words.everyStepFromThe}</p>}
            {trial.isSuccess && <Pill tone="ok">{words.itWorksNothingIs}</Pill>}
            {failure && <p className="m-0 text-bad">{failure.hint}</p>}
          </Card>
          <Card
            title={kind.grants && kind.capabilities.includes('tables') ? words.makeARoleThat : words.beforeYouConnect}
            actions={kind.grants && <Copy text={kind.grants} />}
          >
            {addresses.length > 0 && (
              <>
                <p className="mt-0">{words.allowTheseAddresses}</p>
                <pre className="mt-0 text-xs wrap-anywhere whitespace-pre-wrap">{addresses.join('\n')}</pre>
              </>
            )}
            {kind.grants && <pre className="m-0 mb-4 text-xs wrap-anywhere whitespace-pre-wrap">{kind.grants}</pre>}
            <p className="m-0"><a href={kind.docs_url} target="_blank" rel="noopener">{words.documentation}</a></p>
          </Card>
        </div>
      </div>
    </>
  )
}

function Field({ name, property: p, required, error, form }: {
  name: string
  property: Property
  required: boolean
  error: string | undefined
  form?: string
}) {
  const common = { name: 'credential.' + name, label: p.title ?? name, hint: p.description, error, required, form }
  if (name === 'tls' && p.enum) {
    const choices = p.enum.map((x) => ({ value: x, label: words.encryptions[x] ?? x }))
    return <Select {...common} hint={undefined} defaultValue={String(p.default ?? '')} choices={choices} />
  }
  if (p.enum) return <Select {...common} defaultValue={String(p.default ?? '')} choices={p.enum.map((x) => ({ value: x, label: x }))} />
  if (p.type === 'boolean') {
    return <Select {...common} defaultValue={String(p.default ?? false)} choices={[{ value: 'false', label: words.no }, { value: 'true', label: words.yes }]} />
  }
  if (multiline.test(name)) return <TextArea {...common} autoComplete="off" spellCheck={false} />
  return (
    <Input
      {...common} type={p['x-secret'] ? 'password' : p.type === 'integer' ? 'number' : 'text'} autoComplete="off"
      defaultValue={p.default === undefined ? '' : String(p.default)} placeholder={p.examples?.[0]}
    />
  )
}
