package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/atrium-hq/atrium/domain/presence"
)

const (
	online     = 100_000
	every      = presence.DefaultTTL / 3 // as a heartbeat's answer says
	keepBehind = 5 * time.Minute         // what SQLite is kept behind by
)

// written counts the rows that presence writes while many people are online who send a heartbeat each half
// minute, and nothing else. Signs of life are written in cycles: on PostgreSQL it looks at one, of a minute,
// after the first; on SQLite at the first, of five and a half. Both engines run at the same time, since what
// is counted follows from the clock; how late heartbeats were says whether the machine could follow it.
func written(ctx context.Context, m *machine) error {
	m.section("What presence writes", "", "heartbeats", "presences", "last use of API keys", "counted for",
		"p50, p99 of heartbeats", "latest heartbeat", "refused")
	rows, errs := make([][]string, len(m.engines)), make([]error, len(m.engines))
	var all sync.WaitGroup
	for i, e := range m.engines {
		all.Go(func() {
			data := filepath.Join(m.dir, "written-"+e.driver)
			errs[i] = e.use(ctx, data, func(d database) (err error) {
				rows[i], err = m.writtenOn(ctx, d, data)
				return err
			})
		})
	}
	all.Wait()
	for _, cells := range rows {
		if cells != nil {
			m.row(cells...)
		}
	}
	return errors.Join(errs...)
}

func (m *machine) writtenOn(ctx context.Context, d database, data string) ([]string, error) {
	owner, err := m.createUser(ctx, d, data, "owner")
	if err != nil {
		return nil, err
	}
	people, err := crowd(ctx, d, owner, online, 0)
	if err != nil {
		return nil, fmt.Errorf("people: %w", err)
	}
	db, err := d.open("")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	if err := countWrites(ctx, db); err != nil {
		return nil, err
	}
	if err := present(ctx, d, people, presence.DefaultTTL); err != nil {
		return nil, fmt.Errorf("presences: %w", err)
	}
	p, err := m.serveAtrium(ctx, d, data)
	if err != nil {
		return nil, err
	}
	defer p.stop()
	if err := p.calm(ctx); err != nil { // it reads who is online
		return nil, err
	}
	skip, window := time.Duration(0), keepBehind+every
	if d.driver == "postgres" {
		skip, window = presence.DefaultTTL+every, 2*every
	}
	ctx, cancel := context.WithTimeout(ctx, skip+window)
	defer cancel()
	b := &beating{begun: time.Now()}
	var beating sync.WaitGroup
	var failed error
	beating.Go(func() {
		if failed = b.beat(ctx, p, people); failed != nil {
			cancel()
		}
	})
	defer beating.Wait()
	if err := wait(ctx, skip); err != nil {
		beating.Wait()
		return nil, errors.Join(err, failed)
	}
	from, err := writes(context.WithoutCancel(ctx), db)
	if err != nil {
		return nil, err
	}
	begun, sent := time.Now(), b.sent.Load()
	<-ctx.Done()
	took := time.Since(begun).Seconds()
	to, err := writes(context.WithoutCancel(ctx), db)
	if err != nil {
		return nil, err
	}
	n := b.sent.Load() - sent
	beating.Wait()
	if failed != nil {
		return nil, failed
	}
	slices.Sort(b.took)
	return []string{
		d.named(), perSecond(float64(n) / took), perSecond(float64(to["presences"]-from["presences"]) / took),
		perSecond(float64(to["api_keys"]-from["api_keys"]) / took),
		fmt.Sprintf("%.0f s", took), ms(percentile(b.took, 50)) + ", " + ms(percentile(b.took, 99)),
		fmt.Sprintf("%.1f s late", time.Duration(b.late.Load()).Seconds()), fmt.Sprint(b.refused.Load()),
	}, nil
}

// wait waits for d, or until ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// beating sends heartbeats of many people, spread evenly over 30 seconds.
type beating struct {
	begun time.Time
	sent  atomic.Int64
	late  atomic.Int64 // nanoseconds, of the latest

	refused atomic.Int64 // that were answered with an error, as a server does that cannot keep up
	mu      sync.Mutex
	took    []time.Duration
}

// maxRefused is how many may be refused, for whatever reason, before nothing is measured.
const maxRefused = 1_000

// beat sends them until ctx ends.
func (b *beating) beat(ctx context.Context, p *program, people []person) error {
	const connections = 32
	body := fmt.Sprintf(`{"device_id":%q,"device_kind":"web"}`, crowdDevice)
	errs := make([]error, connections)
	var all sync.WaitGroup
	for w := range connections {
		all.Go(func() {
			next := w
			t := p.repeats()
			t.make = func(int64) []byte { return p.request("POST", presencePath, people[next%len(people)].Token, body) }
			c, err := t.dial(ctx)
			if err != nil {
				errs[w] = err
				return
			}
			defer c.Close()
			var took []time.Duration
			for ; ; next += connections {
				due := b.begun.Add(time.Duration(float64(next) / float64(len(people)) * float64(every)))
				if wait(ctx, time.Until(due)) != nil {
					break
				}
				if late := int64(time.Since(due)); late > b.late.Load() {
					b.late.Store(late)
				}
				one, err := c.ask()
				if errors.Is(err, errRefused) && b.refused.Add(1) < maxRefused {
					continue
				}
				if err != nil {
					errs[w] = err
					break
				}
				took = append(took, one)
				b.sent.Add(1)
			}
			b.mu.Lock()
			b.took = append(b.took, took...)
			b.mu.Unlock()
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// countWrites lets SQLite count the rows that are written; PostgreSQL does so by itself.
func countWrites(ctx context.Context, db *sqlx.DB) error {
	if db.DriverName() == "postgres" {
		return nil
	}
	_, err := db.ExecContext(ctx, `
		CREATE TABLE load_writes (name TEXT PRIMARY KEY, n INTEGER NOT NULL);
		INSERT INTO load_writes VALUES ('presences', 0), ('api_keys', 0);
		CREATE TRIGGER load_presences AFTER UPDATE ON presences BEGIN UPDATE load_writes SET n = n + 1
		WHERE name = 'presences'; END;
		CREATE TRIGGER load_presences_new AFTER INSERT ON presences BEGIN UPDATE load_writes SET n = n + 1
		WHERE name = 'presences'; END;
		CREATE TRIGGER load_api_keys AFTER UPDATE ON api_keys BEGIN UPDATE load_writes SET n = n + 1
		WHERE name = 'api_keys'; END;`)
	return err
}

// writes are the rows that were written so far, by table.
func writes(ctx context.Context, db *sqlx.DB) (map[string]int64, error) {
	query := `SELECT name, n FROM load_writes`
	if db.DriverName() == "postgres" {
		query = `SELECT relname AS name, n_tup_ins + n_tup_upd AS n FROM pg_stat_user_tables
			WHERE relname IN ('presences', 'api_keys')`
	}
	var rows []struct {
		Name string `db:"name"`
		N    int64  `db:"n"`
	}
	if err := db.SelectContext(ctx, &rows, query); err != nil {
		return nil, err
	}
	out := map[string]int64{}
	for _, r := range rows {
		out[r.Name] = r.N
	}
	return out, nil
}
