package sequence

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// The fuzzer makes the worlds that elsewhere random numbers make: its input is what is decided, one byte a decision. Inputs that failed
// once are in testdata/fuzz, and every run of the tests plays them, and the seeds.

// maxDecisions bounds a world: a longer input costs time and shows nothing that a shorter one does not.
const maxDecisions = 4096

var fuzzThemes = []theme{
	everything, podsOnly, workloadsInCluster, nodesOnly, overTime, acrossNamespaces, acrossNamespacesOnNodes, acrossNamespacesOverTime,
}

var lateThemes = []theme{workloadsInCluster, podsOnly, acrossNamespacesLate}

// decisions are a source of random numbers that says what it was told to say. After that it goes on at random, but always the same.
type decisions struct {
	bytes []byte
	after *rand.PCG
}

func newDecisions(bytes []byte) *decisions {
	return &decisions{bytes: bytes[:min(len(bytes), maxDecisions)], after: rand.NewPCG(1, 2)}
}

// Uint64 spreads a byte over all bits: some users look at the highest, and some at the lowest.
func (d *decisions) Uint64() uint64 {
	if len(d.bytes) == 0 {
		return d.after.Uint64()
	}
	b := uint64(d.bytes[0])
	d.bytes = d.bytes[1:]
	return b * 0x0101010101010101
}

func (d *decisions) left() bool { return len(d.bytes) > 0 }

// worldOf makes a world in which happens what was decided.
func worldOf(theme theme, d *decisions) *randomWorld {
	w := newRandomWorld(0, theme)
	w.Rand = rand.New(d)
	return w
}

// addSeeds adds a world of each theme to the seeds of the fuzzer.
func addSeeds(f *testing.F, themes []theme) {
	for i := range themes {
		random := rand.New(rand.NewPCG(uint64(i), 7))
		bytes := make([]byte, 1024)
		for at := 0; at < len(bytes); at += 8 {
			binary.LittleEndian.PutUint64(bytes[at:], random.Uint64())
		}
		f.Add(uint8(i), bytes)
	}
}

func FuzzEngineAgreesWithOracle(f *testing.F) {
	addSeeds(f, fuzzThemes)
	f.Fuzz(func(t *testing.T, theme uint8, decided []byte) {
		d := newDecisions(decided)
		w, c := worldOf(fuzzThemes[int(theme)%len(fuzzThemes)], d), newComparison(counters{})
		var history []event
		for d.left() {
			for _, e := range w.step(c) {
				history = append(history, e)
				if err := c.do(e); err != nil {
					history, err = shrink(history, c.oracle.definitions, err)
					t.Fatalf("%v\nafter:\n%s", err, tell(history))
				}
			}
		}
	})
}

func FuzzLateEventsPassNothingThatWasNot(f *testing.F) {
	addSeeds(f, lateThemes)
	f.Fuzz(func(t *testing.T, theme uint8, decided []byte) {
		d := newDecisions(decided)
		l := newLateness(worldOf(lateThemes[int(theme)%len(lateThemes)], d), counters{})
		for d.left() {
			if err := l.step(); err != nil {
				t.Fatalf("%v\nwhat happened, and what the engine was told of it and when:\n%s", err, l.log)
			}
		}
		if err := l.finish(); err != nil {
			t.Fatalf("%v\nwhat happened, and what the engine was told of it and when:\n%s", err, l.log)
		}
	})
}
