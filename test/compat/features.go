package main

// A feature is a row of the table: it works with a Kubernetes release if its tests pass on a control plane of that release.
type feature struct {
	// name is the key of the results, and the row's first cell.
	name string
	// group is the heading of the rows that it is among.
	group string
	// runs are the tests of one package each.
	runs []run
	// since is the first minor version of Kubernetes that can do it; 0 for all.
	since int
	// instead says what to do before that version.
	instead string
}

type run struct {
	// directory of the tests, below test.
	directory string
	// tests are their names.
	tests []string
}

func of(directory string, tests ...string) run { return run{directory: directory, tests: tests} }

const (
	sequences  = "integration"
	jobs       = "integration/sequentialjob"
	podGroups  = "integration/podgroup"
	rollouts   = "integration/deploymentcoordination"
	leaving    = "integration/leaving"
	kubectl    = "integration/kubectl"
	deployment = "deployment"
)

// features are the rows of the table, in this order.
var features = []feature{
	{group: "Installation", name: "the default installation, with permissions that are enough", runs: []run{
		of(deployment, "TestOnlyTheControllerWritesStatus", "TestPeopleHaveTheRestByTheRolesOfEveryCluster",
			"TestTheNamespaceTakesThePodsOfOurDeployments", "TestASchedulerThatKnowsEverythingIsReady")}},
	{group: "Installation", name: "what a stolen token of the programs may not do", runs: []run{
		of(deployment, "TestAStolenTokenOfTheSchedulerBindsPodsAndNothingMore", "TestAStolenTokenOfTheSchedulerWritesNoLeaseOfOthers",
			"TestAStolenTokenOfTheControllerWritesNoJobsOfOthers", "TestAStolenTokenOfTheControllerChangesNothingElseOfPods")}},
	{group: "Installation", name: "definitions of the kinds, their rules and defaults", runs: []run{
		of(sequences, "TestValidation", "TestValidationOfGroups", "TestValidationOfClusterPodSequences", "TestDefaults"),
		of(jobs, "TestValidation", "TestImmutability"),
		of(rollouts, "TestValidation")}},
	{group: "Installation", name: "lite mode", runs: []run{of(sequences, "TestLiteMode")}},
	{group: "Installation", name: "as the cluster's scheduler", runs: []run{of(sequences, "TestAsDefaultScheduler")}},
	{group: "Installation", name: "fail-over and restarts", runs: []run{
		of(sequences, "TestFailOver", "TestSchedulerKilledInTheMiddle", "TestTheKindIsInstalledAfterThePrograms")}},
	{group: "Installation", name: "removal", runs: []run{of(leaving, "TestTheDocumentedOrder")}},
	{group: "Installation", name: "`kubectl podseq`", runs: []run{of(kubectl, "TestTheTimelineOfASequenceThatHasCompleted")}},

	{group: "PodSequence", name: "cluster scope", runs: []run{
		of(sequences, "TestThreeTiersStartInOrder", "TestTiersByLabel", "TestGates", "TestEveryKindOfWorkloadSaysWhatToExpect",
			"TestReplacementAndScaleUpOfAReleasedGroupGoStraightThrough", "TestAGroupThatMustCompleteWaitsForTheWholeJob",
			"TestTheNextGroupWaitsUntilTheWaitIsOver", "TestTimeout", "TestContinuousHoldsNewPodsWhileAnEarlierGroupIsNotReady",
			"TestNothingIsWrittenOnReleasedPods", "TestTheRecordKeepsProgress", "TestEdits")}},
	{group: "PodSequence", name: "node scope", runs: []run{
		of(sequences, "TestPodsGoToANodeOnceItsDriverIsReady", "TestADriverThatIsNotReadyAnyMore", "TestPodsAreTriedOnceANodeOpens",
			"TestNobodyIsEvictedWhereAPodMayNotGoYet", "TestStatusOfNodes")}},
	{group: "PodSequence", name: "`dependsOn`, `skip`, `expectedPods`, `dryRun`", runs: []run{
		of(sequences, "TestAGraphStartsInOrder", "TestNobodyWaitsForAGroupWithSkip", "TestAGroupExpectsSoManyPodsOfAnOwnerOfUnknownKind",
			"TestADryRunHoldsNothingAndSaysWhatItWouldHold")}},
	{group: "PodSequence", name: "ClusterPodSequence", runs: []run{
		of(sequences, "TestADriverInOneNamespaceBeforeApplicationsInOthers", "TestNamespacesThatJoinAndLeaveAClusterPodSequence",
			"TestAClusterPodSequenceOnEachNode")}},
	{group: "PodSequence", name: "sequences for other namespaces", runs: []run{
		of(sequences, "TestANamespaceMustAllowSequencesOfAnother", "TestASequenceForAnotherNamespaceNeedsPermissionThere")}},
	{group: "PodSequence", name: "the label `podsequence.example.com/sequence` without `schedulerName` (policies `routing` and `gating`)", since: 36,
		instead: "write `schedulerName: podsequence-scheduler` into the pod template beside the label; in lite mode the gate",
		runs:    []run{of(sequences, "TestPodsWithTheLabelAreRouted", "TestLiteModeAddsTheGateToPodsWithTheLabel")}},
	{group: "PodSequence", name: "gated pods of the default scheduler, in cluster scope", runs: []run{of(sequences, "TestGates")}},
	{group: "PodSequence", name: "gated pods of the default scheduler, in node scope (policy `routing`)", since: 36,
		instead: "write `schedulerName: podsequence-scheduler` into the pod template; the gate may stay",
		runs:    []run{of(sequences, "TestGatedPodsOfTheDefaultSchedulerAreRouted")}},
	{group: "PodSequence", name: "namespaces that opt in by a label (policy `opt-in`)", since: 36,
		instead: "set `schedulerName` by a patch of the chart's manifests, or run `podsequence-scheduler` as the cluster's scheduler",
		runs:    []run{of(sequences, "TestANamespaceOptsIn", "TestSampleLabelledChart")}},

	{group: "SequentialJob", name: "SequentialJob", runs: []run{
		of(jobs, "TestStepsRunOneAfterAnother", "TestTheFirstFailureStopsTheSequence", "TestSuspendedInTheMiddleAndResumed",
			"TestTheDeadlineStopsTheRunningStep", "TestTimeToLive", "TestPodsHaveWhatTheTemplateSharesAndTheirOwnStep")}},

	{group: "Pod groups", name: "by label, by workload, by Coscheduling", runs: []run{
		of(podGroups, "TestAGroupOfFourWhosePodsArriveOneByOne", "TestSizeByCoscheduling", "TestSizeByWorkload", "TestControllerRestarted")}},
	{group: "Pod groups", name: "by PodGroups of Kubernetes (`scheduling.k8s.io/v1beta1`)", since: 37,
		instead: "write the size into the annotation `podgroup.jhwagner.github.io/size`",
		runs:    []run{of(podGroups, "TestSizeByAPodGroupOfKubernetes")}},

	{group: "DeploymentCoordination", name: "DeploymentCoordination", runs: []run{of(rollouts, "TestWithoutThePolicy")}},
	{group: "DeploymentCoordination", name: "no rollout begins before it is paused (policy `deploymentcoordination`)", since: 36,
		instead: "nothing: the controller pauses a Deployment a moment after its change",
		runs: []run{of(rollouts, "TestThePolicyPauses", "TestThePolicyPausesOnlyWhileTheControllerRenewsItsLease",
			"TestThreeDeploymentsRollOutInOrderOfTheirNames", "TestMinReadySecondsAreRespected", "TestScalingIsNeverBlocked", "TestTheActiveDeploymentIsDeleted")}},
}

// outcome reports whether a feature works, and whether that is known: all its tests passed, or one did not.
func (f feature) outcome(ended outcomes) (works, known bool) {
	all := true
	for _, r := range f.runs {
		for _, test := range r.tests {
			passed, over := ended[r.directory][test]
			if over && !passed {
				return false, true
			}
			all = all && over
		}
	}
	return all, all
}

func (f feature) cell(minor int, r *results) string {
	works, tried := r.Features[f.name]
	switch {
	case minor < f.since:
		return "–"
	case !tried:
		return "not tried"
	case works:
		return "works"
	default:
		return "**fails**"
	}
}
