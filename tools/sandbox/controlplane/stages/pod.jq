# What the stages of running pods share: every use of include "pod" in them is replaced by these definitions.

def annotation($name): .metadata.annotations["sandbox.podsequence.example.com/" + $name];

# A pod of a Job completes by itself, as KWOK's own stages have it, whose annotation for the delay is read too.
def completesByItself:
  if any(.metadata.ownerReferences[]?; .kind == "Job" and (.apiVersion // "" | startswith("batch/")))
  then .metadata.annotations["pod-complete.stage.kwok.x-k8s.io/delay"] // "2s"
  else null
  end;

# The containers of a pod crash and restart together.
def container: .status.containerStatuses[0]?;

# A container of a pod that restarts nothing ends but once: that is what fail-after is for.
def crashes:
  if .spec.restartPolicy == "Never" then null
  elif (container.restartCount // 0) >= (annotation("crash-times") // "1000000" | tonumber) then null
  else annotation("crash-after")
  end;

# When something happens to the pod, or null if it never does.
def due($name):
  if $name == "crash-after" then crashes
  else annotation($name)
    // (if $name == "ready-after" or $name == "restart-after" then "1s" elif $name == "complete-after" then completesByItself else null end)
  end
  | if . == "never" then null else . end;

def milliseconds:
  (if startswith("-") then -1 else 1 end) as $sign
  | [scan("([0-9.]+)(h|ms|m|s)") | (.[0] | tonumber) * {h: 3600000, m: 60000, s: 1000, ms: 1}[.[1]]] | add * $sign;

def isReady: any(.status.conditions[]?; .type == "Ready" and .status == "True");

def waits: container.state.waiting != null;

def ending: ("fail-after", "complete-after") as $name | select(due($name)) | $name;

# What a pod waits for while its containers run: what it becomes next, but for a crash.
def nextUncrashed:
  due("ready-after") as $ready
  | first(ending, null) as $end
  | if isReady and $ready == null then "unready"
    elif isReady or $ready == null then $end
    elif $end and (due($end) | milliseconds) <= ($ready | milliseconds) then $end
    else "ready-after"
    end;

# What a delay counts from: readiness and crashes from the start of the container, a restart from its end, all else from the start
# of the pod.
def base($name):
  if $name == "restart-after" then container.lastState.terminated.finishedAt
  elif $name == "ready-after" or $name == "crash-after" then container.state.running.startedAt
  else null
  end
  // .status.startTime;

# How long it is until then. The start is known in whole seconds, so up to one of those that seem to have passed may
# not have.
def left($name):
  ([now + (annotation("clock") // "0s" | milliseconds) / 1000 - (base($name) | fromdate) - 1, 0] | max) as $passed
  | (due($name) // "1s" | milliseconds) - $passed * 1000;

# The name of the one thing that happens to the pod next, or null. A kubelet that restarts a container before it has reported its end
# reports a ready pod that is ready, since a later time.
def next:
  nextUncrashed as $else
  | if waits then "restart-after"
    elif due("crash-after") == null then $else
    elif $else == "unready" or ($else != null and left($else) <= left("crash-after")) then $else
    elif isReady and (due("restart-after") | . != null and milliseconds == 0) then "restart-unseen"
    else "crash-after"
    end;

def delay($name): "\(left($name) | floor)ms";

# What becomes of a deleted pod next. A kubelet reports that its containers have ended before it removes the pod; here only a pod does that
# stays because of a finalizer: Jobs count pods so.
def onDeletion:
  if (.metadata.finalizers // [] | length) > 0 and (.status.phase == "Pending" or .status.phase == "Running") then "end" else "remove" end;

# How long the containers of a deleted pod run on.
def goneAfter: if .status.phase == "Succeeded" or .status.phase == "Failed" then "0s" else annotation("gone-after") // "0s" end;
