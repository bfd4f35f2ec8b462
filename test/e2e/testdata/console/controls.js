// Clicks everything on a screen of the console that can be clicked, and records the calls that are refused or fail.
// console_controls_test.go runs it in the page, and calls walked() for each screen.
(() => {
	let pending = 0, clicks = 0, doing = ''
	const wrong = []
	const real = window.fetch
	window.fetch = async (url, init) => {
		pending++
		try {
			const response = await real(url, init)
			if ([401, 403, 405].includes(response.status) || response.status >= 500) {
				wrong.push(`${doing}: ${init?.method ?? 'GET'} ${new URL(url, location.href).pathname}: ${response.status}`)
			}
			return response
		} finally {
			pending--
		}
	}
	// There is no authenticator for passkeys here.
	navigator.credentials.create = navigator.credentials.get = async () => { throw new DOMException('none', 'NotAllowedError') }

	let complaint = ''
	const complain = console.error
	console.error = (...all) => {
		complaint = all.join(' ').slice(0, 300)
		complain(...all)
	}

	const pause = (ms) => new Promise((done) => setTimeout(done, ms))
	const loading = () => [...document.querySelectorAll('[role=status]')].some((e) => e.innerText === 'Loading…')
		|| !document.querySelector('main h1')

	/** Waits until the page has done what a click began. */
	const settle = async () => {
		for (let calm = 0, n = 0; calm < 2 && n < 1000; n++) {
			await pause(6)
			calm = pending === 0 && !loading() ? calm + 1 : 0
		}
		if (!document.querySelector('main')) throw new Error(`${doing} has broken the page: ${complaint}`)
	}
	/** The dialog or menu that is above everything else. */
	const above = () => [...document.querySelectorAll('[role=dialog],[role=menu]')]
		.filter((e) => e.checkVisibility() && !e.hasAttribute('data-ending-style')).at(-1)
	const tab = () => document.querySelector('main [role=tab][aria-selected=true]')
	const nameOf = (e) => (e.ariaLabel || e.innerText || e.textContent || '').trim().replace(/\s+/g, ' ')

	/** What can be clicked below an element, with a key that is the same after the page has rendered again. */
	const controls = (root) => {
		const counted = {}
		return [...root.querySelectorAll('button,a[href],summary,[role=tab],[role=menuitem],input[type=checkbox]')]
			.filter((e) => e.checkVisibility() && !e.matches('[disabled],[aria-disabled=true],[data-disabled],fieldset:disabled *,form input'))
			.map((e) => {
				const name = nameOf(e), within = e.closest('[role=tabpanel]') ? `${nameOf(tab())}: ` : ''
				counted[within + name] = (counted[within + name] ?? 0) + 1
				return { e, name, tab: e.role === 'tab', key: `${within}${name} ${counted[within + name]}` }
			})
	}

	const followed = new Set() // links lead to the same place from everywhere
	const leads = (e) => {
		if (e.tagName !== 'A') return true
		const inside = e.origin === location.origin && !e.target && !e.href.includes('#') && e.pathname.includes('/console/')
		return inside && !followed.has(e.pathname)
	}

	const set = (field, value) => {
		Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value').set.call(field, value)
		field.dispatchEvent(new Event(field.tagName === 'SELECT' ? 'change' : 'input', { bubbles: true }))
	}
	let made = 0
	/** Fills in what a form requires, and chooses the last choice of each select if it should. */
	const fill = (form, last) => {
		for (const field of form.elements) {
			if (field.matches(':disabled,[readonly]')) continue
			if (field.tagName === 'SELECT' && last) set(field, [...field.options].at(-1)?.value ?? '')
			if (!field.required || field.value !== '' || field.type === 'file') continue
			const value = { email: `throw-away.${++made}@example.com`, number: field.min || '1' }[field.type] ?? `throw-away ${++made}`
			set(field, field.name === 'url' ? `https://example.com/throw-away/${++made}` : field.name === 'label' ? 'throw-away' : value)
		}
	}

	let skipped = []
	const click = async (e, told, last) => {
		doing = told
		clicks++
		if (e.tagName === 'A') followed.add(e.pathname)
		if (e.type === 'submit' && e.form) fill(e.form, last)
		await pause(0)
		if (e.isConnected) e.click() // the choices may have changed the form
		await settle()
	}
	const close = async () => {
		for (let n = 0; above() && n < 5; n++) {
			const at = above(), by = at.querySelector('[aria-label=Close]')
			if (by) by.click()
			else at.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }))
			await settle()
		}
	}
	// What asks before it acts is confirmed for things that the test has made for that.
	const mayConfirm = (dialog) => dialog.querySelector('form') || /throw-away|End the session/.test(dialog.innerText)

	/** Clicks everything in the dialog above everything else, and in those that it opens. */
	const inDialog = async (told, last) => {
		const done = new Set()
		for (let n = 0; n < 30; n++) {
			const at = above()
			if (!at || at.role === 'menu' || !mayConfirm(at)) break
			const title = nameOf(at.querySelector('h2') ?? at)
			const next = controls(at).find((c) => !done.has(title + c.key) && c.name !== 'Close' && leads(c.e) && !skipped.includes(c.name))
			if (!next) {
				if (above() !== at) continue
				const by = at.querySelector('[aria-label=Close]')
				if (!by) break
				by.click()
				await settle()
				if (above() === at) break
				continue
			}
			done.add(title + next.key)
			await click(next.e, `${told} › ${next.name}`, last)
		}
		await close()
	}

	/** Clicks a control, and everything that it opens. */
	const whole = async (find, told) => {
		await click(find(), told)
		const at = above()
		if (at?.role === 'menu') {
			const items = controls(at).map((c) => c.name)
			for (const name of items) {
				if (above()?.role !== 'menu') {
					if (!find()) return
					await click(find(), told)
				}
				const item = above() && controls(above()).find((c) => c.name === name)
				if (!item) continue
				await click(item.e, `${told} › ${name}`)
				await inDialog(`${told} › ${name}`)
			}
			await close()
			return
		}
		if (!at) return
		const chooses = at.querySelector('form select')
		await inDialog(told)
		if (!chooses || !find()) return
		await click(find(), told)
		await inDialog(`${told}, with the last choices`, true)
	}

	const go = async (path) => {
		history.pushState({}, '', path)
		dispatchEvent(new PopStateEvent('popstate'))
		await settle()
	}

	/** Chooses the choices of a select outside of forms, and at last the one that it had. */
	const choices = async (find, told) => {
		const before = find().value, all = [...find().options].filter((o) => !o.disabled).map((o) => o.value)
		for (const value of [...(all.length > 6 ? [all[1], all.at(-1)] : all), before]) {
			const select = find()
			if (!select || select.value === value) continue
			doing = `${told}: ${value}`
			clicks++
			set(select, value)
			await settle()
			await close()
		}
	}

	window.walked = async (path, skips) => {
		doing = path
		skipped = skips
		clicks = wrong.length = 0
		const start = new URL(path, document.baseURI).pathname
		await go(start)
		const root = document.querySelector('main'), done = new Set()
		const every = () => controls(root).filter((c) => !skips.includes(c.name) && leads(c.e))
		const selects = () => [...root.querySelectorAll('select:not(form select)')].filter((e) => e.checkVisibility() && !e.disabled)
			.map((e, i) => ({ e, key: `${nameOf(tab() ?? root.querySelector('h1'))}: ${e.ariaLabel} ${i}` }))
		for (let n = 0; n < 150; n++) {
			const all = every().filter((c) => !done.has(c.key))
			const select = selects().find((s) => !done.has(s.key))
			const next = all.find((c) => !c.tab) ?? (select ? undefined : all[0])
			if (!next && !select) return { clicks, wrong }
			const opened = tab() && nameOf(tab())
			const { key } = next ?? select
			done.add(key)
			if (next) await whole(() => every().find((c) => c.key === key)?.e, `${path} › ${key}`)
			else await choices(() => selects().find((s) => s.key === key)?.e, `${path} › ${key}`)
			await close()
			if (location.pathname !== start) {
				await go(start)
				if (location.pathname !== start) break
				const again = [...root.querySelectorAll('[role=tab]')].find((e) => nameOf(e) === opened)
				if (again && again !== tab()) {
					again.click()
					await settle()
				}
			}
		}
		return { clicks, wrong: [...wrong, `${path}: the clicks do not end`] }
	}
})()
