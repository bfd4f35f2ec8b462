package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"
)

// nodes measures the most frequent read on one, two and three nodes that share one PostgreSQL: the CPU of the nodes for
// a request, and the transactions of the database, compared with those of nodes without any load. Nodes that each have
// processors of their own answer as many times more than one node as there are nodes, less what a request costs more.
func nodes(ctx context.Context, m *machine) error {
	m.section("Several nodes", "loaded nodes, of three", "answers", "CPU a request", "/ one node",
		"growth with own cores (aim ≥ 1.8, 2.6)", "transactions a second", "more than without load, for 1,000 answers")
	return m.onEach(ctx, "nodes", func(d database, data string) error {
		if d.driver == "sqlite" {
			return nil // nodes cannot share it
		}
		return m.nodesOn(ctx, d, data)
	})
}

func (m *machine) nodesOn(ctx context.Context, d database, data string) error {
	owner, err := m.createUser(ctx, d, data, "owner")
	if err != nil {
		return err
	}
	var all []*program
	for range 3 {
		p, err := m.serveAtrium(ctx, d, data)
		if err != nil {
			return err
		}
		defer p.stop()
		all = append(all, p)
	}
	prompt, err := publish(ctx, all[0], owner.Token, "sales/prompt")
	if err != nil {
		return err
	}
	db, err := sqlx.ConnectContext(ctx, d.driver, d.server) // not in the database that is counted
	if err != nil {
		return err
	}
	defer db.Close()
	one, idle := 0.0, 0.0 // CPU of a request, and transactions a second
	for n := range len(all) + 1 {
		answers, cpu, transactions, took, err := m.loadNodes(ctx, db, d, all[:n], prompt.active(), owner.Token)
		if err != nil {
			return err
		}
		seconds := (took + statsLag).Seconds()
		rate := float64(transactions) / seconds
		if n == 0 {
			idle = rate
			m.row("none", "", "", "", "", perSecond(rate), "")
			continue
		}
		each := cpu / float64(answers)
		if n == 1 {
			one = each
		}
		m.row(fmt.Sprint(n), perSecond(float64(answers)/took.Seconds()), fmt.Sprintf("%.0f µs", each*1e6),
			ratio(each/one), ratio(float64(n)*one/each), perSecond(rate),
			fmt.Sprintf("%.2f", 1000*(rate-idle)*seconds/float64(answers)))
	}
	return nil
}

// statsLag is how long a connection of PostgreSQL may keep what it has counted to itself, and some more.
const statsLag = 3 * time.Second

// loadNodes loads some nodes at the same time for five rounds.
func (m *machine) loadNodes(ctx context.Context, db *sqlx.DB, d database, loaded []*program, path, token string) (
	answers int, cpu float64, transactions int64, took time.Duration, err error,
) {
	u, err := url.Parse(d.url)
	if err != nil {
		return 0, 0, 0, 0, errors.New("the URL of PostgreSQL is none") // without err, which would quote the password
	}
	count := func() (n int64, err error) {
		time.Sleep(statsLag)
		err = db.GetContext(ctx, &n, `SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = $1`,
			strings.TrimPrefix(u.Path, "/"))
		return n, err
	}
	before, err := count() // the lag after the load is counted too, with and without a load
	if err != nil {
		return 0, 0, 0, 0, err
	}
	begun := time.Now()
	used := make([]usage, len(loaded))
	for i, p := range loaded {
		if used[i], err = p.usage(ctx); err != nil {
			return 0, 0, 0, 0, err
		}
	}
	var running sync.WaitGroup
	got, failed := make([]int, len(loaded)), make([]error, len(loaded))
	for i, p := range loaded {
		running.Go(func() {
			took, _, err := newTarget(p, path, token).load(ctx, 16, rounds*m.round)
			got[i], failed[i] = len(took), err
		})
	}
	if len(loaded) == 0 {
		time.Sleep(rounds * m.round)
	}
	running.Wait()
	took = time.Since(begun)
	for i, p := range loaded {
		after, err := p.usage(ctx)
		if err != nil || failed[i] != nil {
			return 0, 0, 0, 0, errors.Join(err, failed[i])
		}
		cpu += after.since(used[i]).cpu
		answers += got[i]
	}
	after, err := count()
	return answers, cpu, after - before, took, err
}
