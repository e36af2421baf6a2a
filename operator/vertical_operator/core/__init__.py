"""Pure core: values in, values out. No I/O, no clock, no environment, no logging; time is an argument.

How a reconcile uses it (all other names are details of this package):

    # VerticalService (also for Engine: engine_lookups, ObservedEngine, plan_engine)
    service  = parse(VerticalService, raw)            # api.v1alpha1; InvalidObject -> status.invalid(raw, text=..., now=...)
    lookups  = service_lookups(service, settings)     # lookups.py: what to GET by name and to LIST by label
    objects  = [... raw objects of lookups.gets that exist, and of lookups.lists ...]
    observed = ObservedService.of(objects)              # observed.py; the order of objects is of no matter
    result   = plan(service, observed, settings=settings, now=now)    # plan.py -> Plan
    for apply in result.applies:  server-side apply of apply.manifest under apply.manager, force; in this order
    for delete in result.deletes: DELETE with precondition uid (and resourceVersion where given)
    patch /status when result.status differs from raw["status"]          # None: leave it alone
    come back after result.wake_after seconds (None: only when something changes)

When the API server refuses an apply for good (400, 403, 422), stop and write
`status.refused(result.status, what=..., text=..., generation=..., now=...)` instead of result.status.
An object with a deletionTimestamp: nothing to do for a VerticalService (owner references collect its children);
plan_engine handles it for an Engine. `now` is an aware UTC datetime.
"""
