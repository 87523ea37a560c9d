package bench

// These rows ask what rows 1 to 4 ask, and count the scheduler's instructions for so many pods. So they need no quiet machine, and fewer
// turns; but a count is not a time.

const (
	instructionsPerPod = "instructions a pod"
	bytesPerPod        = "bytes allocated a pod"
	// apiServerTime is of a pod.
	apiServerTime = "CPU us of the API server"
	// hintsPerPod is the part of the pods that were scheduled as one of a batch.
	hintsPerPod = "scheduled by the hint of a batch"
	// ofController is the controller's work for a change of readiness.
	ofController = "instructions of the controller a change"

	pluginOff = "plugin off"
	pluginOn  = "plugin on"
	workTurns = 5
)

// Of what is counted one after the other, by the same scheduler.
const (
	besideSequence = ", a sequence in their namespace"
	withChurn      = ", with churn"
)

// workSeries are the rows that count the scheduler's instructions. In a trial, variants on different grounds are counted at a time.
const workSeries = "work"

func workRows() []row {
	idle, held := &ground{}, workHeldVariants()
	return []row{workHeldRow(held), workChurnRow(held), workIdleRow(idle), workBatchingRow(idle), workGrowthRow()}
}

func workIdleRow(at *ground) row {
	spans := []span{{namespace: namespace}, {of: besideSequence, namespace: heldNamespace}}
	return row{
		number: 1, work: true, name: "idle-work", turns: workTurns, series: workSeries,
		question: "What does the plugin cost pods in no sequence, with the kinds installed and a sequence elsewhere? 5,000 nodes, 100 pods",
		variants: []variant{
			at.variant(pluginOff, workload{spans: spans}), at.variant(pluginOn, workload{plugin: true, spans: spans}),
		},
		claims: []claim{
			{text: "instructions of the scheduler, plugin on / off", of: pluginOn, to: pluginOff, figure: instructionsPerPod, atMost: new(1.02)},
			{
				text: "the same, with the sequence in their namespace", of: pluginOn, to: pluginOff, figure: instructionsPerPod + besideSequence,
				atMost: new(1.02),
			},
		},
		notes: []string{whatThePluginCosts, whatIsCounted},
	}
}

// whatThePluginCosts names what profiles of both variants differ by most.
const whatThePluginCosts = "Of what the plugin adds to a pod, some 200,000 instructions, its own watch of pods takes 85,000: each event of a " +
	"pod is decrypted once more, cut to what the engine looks at, and decoded. The scheduler's informer cannot take its place: it leaves out " +
	"pods that have ended, which groups count."

func workBatchingRow(at *ground) row {
	const off, on = "batched, plugin off", "batched, plugin on"
	spans := []span{{namespace: namespace}}
	return row{
		number: 2, work: true, name: "batching-work", turns: workTurns, series: workSeries,
		question: "What does the plugin cost pods that are scheduled in batches? 5,000 nodes, 100 pods that all want the same port",
		variants: []variant{
			at.variant(off, workload{batched: true, spans: spans}), at.variant(on, workload{batched: true, plugin: true, spans: spans}),
		},
		claims: []claim{
			{text: "pods that were scheduled as one of a batch, plugin on / off", of: on, to: off, figure: hintsPerPod, atLeast: new(0.97)},
			{text: "instructions of the scheduler, plugin on / off", of: on, to: off, figure: instructionsPerPod, atMost: new(1.03)},
		},
		notes: []string{
			"The plugin adds no more instructions to a pod than in row 1, but a pod of a batch has a seventh of them without it: no node is filtered " +
				"or scored for it.",
			whatIsCounted,
		},
	}
}

// workHeldVariants are counted without churn, and then with it.
func workHeldVariants() []variant {
	held := inFull(10_000, 200)
	spans := []span{{namespace: namespace}, {of: withChurn, namespace: namespace, changes: true}}
	return []variant{
		(&ground{gated: held}).variant(heldByGates, workload{spans: spans}),
		(&ground{waiting: held}).variant(heldByUs, workload{plugin: true, spans: spans}),
	}
}

func workHeldRow(variants []variant) row {
	return row{
		number: 3, work: true, name: "held-work", turns: workTurns, series: workSeries,
		question: "What do 10,000 held pods cost 100 other ones? 5,000 nodes",
		variants: variants,
		claims: []claim{
			{text: "instructions of the scheduler, held by us / by native gates", of: heldByUs, to: heldByGates, figure: instructionsPerPod, atMost: new(1.02)},
		},
		notes: []string{
			whatThePluginCosts, whatIsCounted,
			"Messages are off: there are ten a second at most, and a second is too short for a scheduler that is slowed down by the count.",
		},
	}
}

func workChurnRow(variants []variant) row {
	return row{
		number: 4, work: true, name: "churn-work", turns: workTurns, series: workSeries,
		question: "What does a change of readiness with each pod cost, of pods that the 10,000 held ones of row 3 wait for?",
		variants: variants,
		claims: []claim{
			{
				text: "instructions of the scheduler, held by us / by native gates", of: heldByUs, to: heldByGates,
				figure: instructionsPerPod + withChurn, atMost: new(1.03),
			},
		},
		notes: []string{
			"The controller's instructions are counted after those of the scheduler: it sees all changes at once, and what is counted ends when " +
				"status says so. It writes the status once a second at most, whatever changes meanwhile; as the count slows it down, it writes more " +
				"often for each change than it would at 200 changes a second.",
		},
	}
}
