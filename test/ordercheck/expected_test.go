package ordercheck

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// app is a pod of the second tier, bound by hand at the end.
var appIsBound = several(create("app", labelled("tier", "app")), bind("app"))

func TestJudgeKnowsHowManyPodsToExpect(t *testing.T) {
	tiers := order("s", tier("db"), tier("app"))
	quorum := func(enough string) step { return order("s", tier("db", enoughOf(enough)), tier("app")) }
	dbSet := replicaSet("db-1", "db", "db", "v1", 2)
	onTwoNodes := several(daemonSet("db", "db", 2, readyOn(1)), create("a", labelled("tier", "db"), of("db"), at("n1"), isNow(corev1.ConditionTrue)),
		create("b", labelled("tier", "db"), of("db"), at("n2")))
	tests := map[string]struct {
		steps     []step
		wantEarly bool
		bound     int // besides the pod of the second group
	}{
		"a Deployment of two with one ready pod": {
			steps: []step{tiers, deployment("db", "db", 2), dbSet, up("db", "db-1", "a")}, wantEarly: true,
		},
		"a Deployment of two with two":      {steps: []step{tiers, deployment("db", "db", 2), dbSet, up("db", "db-1", "a", "b")}},
		"a Deployment without a ReplicaSet": {steps: []step{tiers, deployment("db", "db", 1)}, wantEarly: true},
		"a Deployment scaled to zero":       {steps: []step{tiers, deployment("db", "db", 0)}},
		"a Deployment of nobody":            {steps: []step{tiers, deployment("other", "other", 0)}, wantEarly: true},
		"a Deployment that nobody has observed": {
			steps: []step{tiers, deployment("db", "db", 1, unobserved), dbSet, up("db", "db-1", "a")}, wantEarly: true,
		},
		"a Deployment scaled up after it was ready": {
			steps: []step{tiers, deployment("db", "db", 1), dbSet, up("db", "db-1", "a"), deployment("db", "db", 2)},
		},
		"a Deployment scaled up before it was ready": {
			steps: []step{tiers, deployment("db", "db", 1), dbSet, deployment("db", "db", 2), up("db", "db-1", "a")}, wantEarly: true,
		},
		"a Deployment whose ready pods are of the old revision": {
			steps: []step{deployment("db", "db", 1, imageOfDeployment("v2")), dbSet, replicaSet("db-2", "db", "db", "v2", 1),
				up("db", "db-1", "a"), tiers}, wantEarly: true,
		},
		"a Deployment whose ready pods are of the new one": {
			steps: []step{tiers, deployment("db", "db", 1, imageOfDeployment("v2")), dbSet, replicaSet("db-2", "db", "db", "v2", 1),
				create("old", labelled("tier", "db"), of("db-1")), up("db", "db-2", "a")},
		},
		"a surplus in one Deployment does not cover a gap in another": {
			steps: []step{deployment("db", "db", 1), dbSet, deployment("cache", "db", 2), replicaSet("cache-1", "cache", "db", "v1", 2),
				up("db", "db-1", "a", "b"), up("db", "cache-1", "c"), tiers}, wantEarly: true,
		},
		"a ReplicaSet with too few":            {steps: []step{tiers, ownReplicaSet("db", "db", 2), up("db", "db", "a")}, wantEarly: true},
		"a ReplicaSet with enough":             {steps: []step{tiers, ownReplicaSet("db", "db", 2), up("db", "db", "a", "b")}},
		"a ReplicationController with too few": {steps: []step{tiers, replicationController("db", "db", 2), up("db", "db", "a")}, wantEarly: true},
		"a ReplicationController with enough":  {steps: []step{tiers, replicationController("db", "db", 2), up("db", "db", "a", "b")}},
		"the first of an ordered StatefulSet":  {steps: []step{tiers, statefulSet("db", "db", 3), up("db", "db", "db-0")}, wantEarly: true},
		"all of an ordered StatefulSet":        {steps: []step{tiers, statefulSet("db", "db", 3), up("db", "db", "db-0", "db-1", "db-2")}},
		"a StatefulSet that is scaled down while its first is not ready": {
			steps: []step{tiers, statefulSet("db", "db", 3), create("db-0", labelled("tier", "db"), of("db")),
				up("db", "db", "db-1", "db-2"), statefulSet("db", "db", 2)}, wantEarly: true,
		},
		"a StatefulSet that starts with another ordinal and has one before it": {
			steps: []step{tiers, statefulSet("db", "db", 2, startingAt(1)), up("db", "db", "db-0", "db-1")}, wantEarly: true,
		},
		"a surplus ordinal does not count towards a number": {
			steps: []step{quorum("2"), statefulSet("db", "db", 2), up("db", "db", "db-1", "db-2")}, wantEarly: true,
		},
		"a StatefulSet's pod of an old revision": {
			steps: []step{tiers, statefulSet("db", "db", 1, updatingTo("new")), up("db", "db", "db-0")}, wantEarly: true,
		},
		"a StatefulSet that is updated by deletion counts all revisions": {
			steps: []step{tiers, statefulSet("db", "db", 1, updatingTo("new"), onDelete), up("db", "db", "db-0")},
		},
		"an ordinal named in an earlier group is not waited for again": {
			steps: []step{order("s", named("db-0"), tier("db"), tier("app")), statefulSet("db", "db", 2), up("db", "db", "db-0", "db-1")},
		},
		"an ordinal out of range claims nothing": {
			steps:     []step{order("s", named("db-7"), tier("db"), tier("app")), statefulSet("db", "db", 2), up("db", "db", "db-7", "db-0")},
			wantEarly: true,
		},
		"an ordinal named in an earlier group is subtracted even if there is no such pod": {
			steps: []step{order("s", group(v1alpha1.PodGroup{Pods: []string{"db-0"}, MinAvailable: ptr.To(intstr.FromInt32(0))}),
				tier("db"), tier("app")), statefulSet("db", "db", 2), up("db", "db", "db-1")},
		},
		"a failed leader in an earlier group claims nothing": {
			steps: []step{order("s", withLabel("role", "leader"), tier("db"), tier("app")), job("db", "db", 3, 3),
				create("db-0-x", labelled("tier", "db", "role", "leader"), of("db"), failed),
				create("db-0-y", labelled("tier", "db", "role", "leader"), of("db"), isNow(corev1.ConditionTrue)),
				up("db", "db", "db-1-x")}, wantEarly: true,
		},
		"a pod of an old revision claims nothing": {
			steps: []step{order("s", named("a"), tier("db"), tier("app")), deployment("db", "db", 1, imageOfDeployment("v2")), dbSet,
				up("db", "db-1", "a")}, wantEarly: true,
		},
		"a StatefulSet on its way out satisfies nobody": {
			steps: []step{tiers, statefulSet("db", "db", 2, goingOut), up("db", "db", "db-0", "db-1")}, wantEarly: true,
		},
		"a StatefulSet on its way out asks for what it asked for": {
			steps: []step{tiers, statefulSet("db", "db", 2, goingOut), create("own", labelled("tier", "db")), ready("own")}, wantEarly: true,
		},
		"a number is not reached by pods of a StatefulSet on its way out": {
			steps: []step{quorum("1"), statefulSet("db", "db", 2, goingOut), up("db", "db", "db-0")}, wantEarly: true,
		},
		"a StatefulSet that is gone asks for nothing": {
			steps: []step{tiers, statefulSet("db", "db", 2), create("own", labelled("tier", "db")), statefulSet("db", "db", 2, goingOut),
				statefulSet("db", "db", 2, setIsGone), ready("own")},
		},
		"a complete Job on its way out is complete": {
			steps: []step{order("s", tier("db", completed), tier("app")), job("db", "db", 1, 1, completeJob, jobGoesOut)},
		},
		"a Job on its way out that is not complete": {
			steps: []step{order("s", tier("db", completed), tier("app")), job("db", "db", 2, 2, jobGoesOut),
				job("seed", "db", 1, 1, completeJob), create("a", labelled("tier", "db"), of("db"), succeeded)}, wantEarly: true,
		},
		"a Job that failed and is gone is still missing": {
			steps: []step{order("s", tier("db", completed), tier("app")), job("db", "db", 1, 1, failedJob), job("seed", "db", 1, 1, completeJob),
				job("db", "db", 1, 1, failedJob, jobIsGone)}, wantEarly: true,
		},
		"a Job that failed and was created again says for itself what it is": {
			steps: []step{order("s", tier("db", completed), tier("app")), job("db", "db", 1, 1, failedJob), job("db", "db", 1, 1, failedJob, jobIsGone),
				job("db", "db", 1, 1, madeAgain, completeJob)},
		},
		"a Job that was created after the failure to do the same is a successor": {
			steps: []step{order("s", tier("db", completed), tier("app")), job("v1", "db", 1, 1, failedJob), passing(2 * time.Second),
				job("v2", "db", 1, 1, completeJob), job("v1", "db", 1, 1, failedJob, jobIsGone)},
		},
		"a Job that was there beside the one that failed, and is created again, makes up for it": {
			steps: []step{order("s", tier("db", completed), tier("app")), job("seed", "db", 1, 1), job("db", "db", 1, 1, failedJob),
				passing(2 * time.Second), job("db", "db", 1, 1, failedJob, jobIsGone), job("seed", "db", 1, 1, jobIsGone),
				job("seed", "db", 1, 1, madeAgain, completeJob)},
		},
		"a Job that failed and is gone from before the sequence is not missing": {
			steps: []step{job("db", "db", 1, 1, failedJob), job("db", "db", 1, 1, failedJob, jobIsGone),
				order("s", tier("db", completed), tier("app")), job("seed", "db", 1, 1, completeJob)},
		},
		"a pod that failed and that its owner replaces is not waited for": {
			steps: []step{tiers, create("a", labelled("tier", "db"), of("unknown"), failed), create("b", labelled("tier", "db")), ready("b")},
		},
		"a static pod that failed is waited for": {
			steps: []step{tiers, create("a", labelled("tier", "db"), static, failed), create("b", labelled("tier", "db")), ready("b")}, wantEarly: true,
		},
		"a static pod that is ready counts": {
			steps: []step{tiers, create("a", labelled("tier", "db"), static), ready("a")},
		},
		"a static pod of a later group is never too early": {
			steps: []step{tiers, create("a", labelled("tier", "db")), create("static", labelled("tier", "app"), static), ready("a")},
		},
		"a pod that failed and is gone is not missing any more once a pod of another group has its name": {
			steps: []step{tiers, create("a", labelled("tier", "db"), failed), create("b", labelled("tier", "db")), ready("b"), remove("a"),
				create("a", labelled("tier", "app")), bind("a")}, bound: 1,
		},
		"a pod that failed and is gone is still missing": {
			steps: []step{tiers, create("a", labelled("tier", "db"), failed), create("b", labelled("tier", "db")), remove("a"), ready("b")}, wantEarly: true,
		},
		"a pod that failed and was created again": {
			steps: []step{tiers, create("a", labelled("tier", "db"), failed), create("b", labelled("tier", "db")), remove("a"),
				create("a", labelled("tier", "db")), ready("a"), ready("b")},
		},
		"a pod that failed and is being deleted is still missing": {
			steps:     []step{tiers, create("a", labelled("tier", "db"), failed), create("b", labelled("tier", "db")), terminate("a"), ready("b")},
			wantEarly: true,
		},
		"an older Job of a CronJob does not take the place of one that went before it was complete": {
			steps: []step{tiers, job("new", "db", 1, 1, ofCronJob(1)), job("old", "db", 1, 1, completeJob, ofCronJob(0)),
				job("new", "db", 1, 1, ofCronJob(1), jobIsGone)}, wantEarly: true,
		},
		"a DaemonSet's pod of an old generation and the newest hash": {
			steps: []step{tiers, daemonSet("db", "db", 2, templateGeneration("3"), allUpdated),
				create("a", labelled("tier", "db", "pod-template-generation", "3", "controller-revision-hash", "h"), of("db"), isNow(corev1.ConditionTrue)),
				create("b", labelled("tier", "db", "pod-template-generation", "1", "controller-revision-hash", "h"), of("db"), isNow(corev1.ConditionTrue))},
		},
		"a DaemonSet's pod of an old generation that its controller takes for up to date": {
			steps: []step{tiers, daemonSet("db", "db", 1, templateGeneration("2"), allUpdated), up("db", "db", "a")},
		},
		"a Job of a CronJob that was created again succeeds the one that failed": {
			steps: []step{order("s", tier("db", completed), tier("app")), job("v1", "db", 1, 1, failedJob, ofCronJob(0)),
				job("v1", "db", 1, 1, failedJob, ofCronJob(0), jobIsGone),
				job("v2", "db", 1, 1, completeJob, ofCronJob(time.Minute), func(j *batchv1.Job) { j.OwnerReferences[0].UID = "again" })},
		},
		"a DaemonSet that wants no pod because its nodes are not ready": {
			steps: []step{notReady("n1"), notReady("n2"), tiers, daemonSet("db", "db", 0)}, wantEarly: true,
		},
		"a DaemonSet that wants no pod because nobody has counted the node that is ready now": {
			steps: []step{notReady("n1"), tiers, daemonSet("db", "db", 0), node("n1")}, wantEarly: true,
		},
		"a DaemonSet that wants no pod because there are no nodes": {steps: []step{tiers, daemonSet("db", "db", 0)}, wantEarly: true},
		"a DaemonSet that wants no pod because there is no node that it selects": {
			steps: []step{node("n1"), tiers, daemonSet("db", "db", 0, onlyOn("disk", "ssd"))}, wantEarly: true,
		},
		"a DaemonSet that wants no pod because only the control plane has a node": {
			steps: []step{tainted("n1", "node-role.kubernetes.io/control-plane"), tiers, daemonSet("db", "db", 0)}, wantEarly: true,
		},
		"a DaemonSet that wants no pod because its nodes are reserved": {
			steps: []step{tainted("n1", "dedicated"), tiers, daemonSet("db", "db", 0)},
		},
		"a DaemonSet that wants no pod on a node that is reserved when it is not ready either": {
			steps: []step{tainted("n1", "dedicated", corev1.TaintNodeNotReady), tiers, daemonSet("db", "db", 0)},
		},
		"a DaemonSet that wants no pod any more because its last node is reserved now": {
			steps: []step{node("n1"), tiers, daemonSet("db", "db", 0), tainted("n1", "dedicated")},
		},
		"a DaemonSet that wants one pod beside a node that is not ready": {
			steps: []step{notReady("n1"), node("n2"), tiers, daemonSet("db", "db", 1), up("db", "db", "a")},
		},
		"a DaemonSet that wants no pod beside enough pods of others": {
			steps: []step{quorum("1"), notReady("n1"), daemonSet("db", "db", 0), deployment("more", "db", 1), replicaSet("more-1", "more", "db", "v1", 1),
				up("db", "more-1", "a")},
		},
		"a pod whose node went after it was passed": {
			bound: 1,
			steps: []step{node("n1"), order("s", named("db-0"), tier("app")), create("db-0", at("n1"), isNow(corev1.ConditionTrue)), noNode("n1"), passing(3 * time.Second)},
		},
		"a pod whose node went before the sequence came": {
			steps:     []step{node("n1"), create("db-0", at("n1"), isNow(corev1.ConditionTrue)), noNode("n1"), order("s", named("db-0"), tier("app"))},
			wantEarly: true,
		},
		"a pod of a workload whose node went": {
			steps: []step{node("n1"), statefulSet("db", "db", 1), create("db-0", labelled("tier", "db"), of("db"), at("n1"), isNow(corev1.ConditionTrue)),
				noNode("n1"), tiers}, wantEarly: true,
		},
		"a pod that succeeded on a node that is gone": {
			steps: []step{node("n1"), create("db-0", at("n1"), succeeded), noNode("n1"), order("s", named("db-0"), tier("app"))},
		},
		"a pod whose node came back": {
			steps: []step{node("n1"), create("db-0", at("n1"), isNow(corev1.ConditionTrue)), noNode("n1"), order("s", named("db-0"), tier("app")), node("n1")},
		},
		"a DaemonSet with a pod missing": {steps: []step{tiers, daemonSet("db", "db", 2), up("db", "db", "a")}, wantEarly: true},
		"a DaemonSet with all":           {steps: []step{tiers, daemonSet("db", "db", 2), up("db", "db", "a", "b")}},
		"a DaemonSet's pod on a node that the DaemonSet lost": {
			steps: []step{tiers, onTwoNodes, daemonSet("db", "db", 1, readyOn(0))}, wantEarly: true, bound: 2,
		},
		"the other pod of a DaemonSet that lost a node": {
			steps: []step{tiers, onTwoNodes, ready("b"), daemonSet("db", "db", 1, readyOn(1))}, bound: 2,
		},
		"both pods of a DaemonSet that its controller has not counted yet": {
			steps: []step{tiers, onTwoNodes, ready("b"), daemonSet("db", "db", 2, readyOn(0))}, wantEarly: true, bound: 2,
		},
		"a DaemonSet lost a node, and its pod that is not ready is deleted": {
			steps: []step{tiers, daemonSet("db", "db", 2, readyOn(1)), create("b", labelled("tier", "db"), of("db"), at("n2")),
				create("a", labelled("tier", "db"), of("db"), at("n1"), isNow(corev1.ConditionTrue)),
				create("c", labelled("tier", "db"), of("db"), at("n3"), isNow(corev1.ConditionTrue)), remove("b")}, wantEarly: true, bound: 3,
		},
		"a DaemonSet's pod of an old generation": {
			steps: []step{tiers, daemonSet("db", "db", 1, templateGeneration("2")), up("db", "db", "a")}, wantEarly: true,
		},
		"a Job runs no more at once than it completes": {
			steps: []step{tiers, job("db", "db", 2, 5), up("db", "db", "a", "b")},
		},
		"a Job with one of two running": {steps: []step{tiers, job("db", "db", 5, 2), up("db", "db", "a")}, wantEarly: true},
		"a Job that is complete":        {steps: []step{tiers, job("db", "db", 5, 2, completeJob)}},
		"a Job that failed beside one that was created later and is complete": {
			steps: []step{order("s", tier("db", completed), tier("app")), job("v1", "db", 1, 1, failedJob), passing(2 * time.Second),
				job("v2", "db", 1, 1, completeJob)},
		},
		"a Job that failed beside one that was created later and runs": {
			steps: []step{order("s", tier("db", completed), tier("app")), job("v1", "db", 1, 1, failedJob), passing(2 * time.Second),
				job("v2", "db", 1, 1)}, wantEarly: true,
		},
		"a Job that failed beside one that was there before and is complete": {
			steps: []step{order("s", tier("db", completed), tier("app")), job("v1", "db", 1, 1, failedJob),
				job("v2", "db", 1, 1, completeJob, createdAtFirst)}, wantEarly: true,
		},
		"a Job that completed and is cleaned up": {
			steps: []step{order("s", continuously, tier("db", completed), tier("app")), job("db", "db", 1, 1, completeJob), passing(5 * time.Second),
				job("db", "db", 1, 1, completeJob, jobIsGone), passing(5 * time.Second)},
		},
		"a Job that is created after another one was cleaned up": {
			steps: []step{order("s", continuously, tier("db", completed), tier("app")), job("db", "db", 1, 1, completeJob), passing(5 * time.Second),
				job("db", "db", 1, 1, completeJob, jobIsGone), job("new", "db", 1, 1), passing(5 * time.Second)}, wantEarly: true,
		},
		"a Job that is deleted while it runs, after another one was cleaned up": {
			steps: []step{order("s", continuously, tier("db", completed), tier("app")), job("db", "db", 1, 1, completeJob), passing(5 * time.Second),
				job("db", "db", 1, 1, completeJob, jobIsGone), job("new", "db", 1, 1), job("new", "db", 1, 1, jobIsGone), passing(5 * time.Second)}, wantEarly: true,
		},
		"a Job that completed and is cleaned up before it is its turn": {
			steps: []step{order("s", tier("first"), tier("db", completed), tier("app")), job("db", "db", 1, 1, completeJob),
				job("db", "db", 1, 1, completeJob, jobIsGone), create("first", labelled("tier", "first")), ready("first"), passing(5 * time.Second)}, wantEarly: true,
		},
		"a named pod that completed and is cleaned up": {
			steps: []step{order("s", continuously, group(v1alpha1.PodGroup{Pods: []string{"db"}, RequiredStatus: v1alpha1.RequireComplete}), tier("app")), create("db", succeeded), passing(5 * time.Second), remove("db"), passing(5 * time.Second)},
		},
		"a Job that must complete but runs": {
			steps: []step{order("s", tier("db", completed), tier("app")), job("db", "db", 1, 1), up("db", "db", "a")}, wantEarly: true,
		},
		"a Job that must complete whose pods have, but not it": {
			steps: []step{order("s", tier("db", completed), tier("app")), job("db", "db", 1, 1),
				create("a", labelled("tier", "db"), of("db"), succeeded)}, wantEarly: true,
		},
		"a Job that must complete and has": {
			steps: []step{order("s", tier("db", completed), tier("app")), job("db", "db", 1, 1, completeJob)},
		},
		"a pod that must succeed and is only ready": {
			steps: []step{order("s", tier("db", completed), tier("app")), create("a", labelled("tier", "db")), ready("a")}, wantEarly: true,
		},
		"only the newest Job of a CronJob counts": {
			steps: []step{job("old", "db", 1, 1, ofCronJob(0)), job("new", "db", 1, 1, completeJob, ofCronJob(1)), tiers},
		},
		"the newest Job of a CronJob does count": {
			steps: []step{job("old", "db", 1, 1, completeJob, ofCronJob(0)), job("new", "db", 1, 1, ofCronJob(1)), tiers}, wantEarly: true,
		},
		"a pod beside a Deployment": {
			steps: []step{tiers, deployment("db", "db", 1), dbSet, create("own", labelled("tier", "db")), up("db", "db-1", "a")}, wantEarly: true,
		},
		"a failed pod that something unknown replaces does not count": {
			steps: []step{tiers, create("x", labelled("tier", "db"), of("what"), failed),
				up("db", "else", "y")},
		},
		"a number of members is enough": {steps: []step{quorum("2"), statefulSet("db", "db", 3), up("db", "db", "db-0", "db-1")}},
		"less than the number is not":   {steps: []step{quorum("2"), statefulSet("db", "db", 3), up("db", "db", "db-0")}, wantEarly: true},
		"a number is of what controllers have observed": {
			steps: []step{quorum("1"), deployment("db", "db", 3, unobserved), replicaSet("db-1", "db", "db", "v1", 3),
				up("db", "db-1", "a")}, wantEarly: true,
		},
		"a percentage is, and nobody knows of what before all have been": {
			steps: []step{quorum("50%"), deployment("db", "db", 1, unobserved), statefulSet("more", "db", 2),
				up("db", "more", "more-0", "more-1")}, wantEarly: true,
		},
		"a percentage is rounded up":                {steps: []step{quorum("50%"), statefulSet("db", "db", 3), up("db", "db", "db-0")}, wantEarly: true},
		"a percentage is of what is expected":       {steps: []step{quorum("50%"), statefulSet("db", "db", 3), up("db", "db", "db-0", "db-1")}},
		"a percentage of nothing":                   {steps: []step{quorum("50%")}, wantEarly: true},
		"no members are enough where none is asked": {steps: []step{quorum("0")}},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			j := judgement{steps: append(test.steps, appIsBound), wantBindings: 1 + test.bound}
			if test.wantEarly {
				j.wantEarly = []string{"shop/app"}
			}
			j.check(t)
		})
	}
}
