use super::*;

const FILE: FileId = FileId(3);

fn read_once(cache: &mut PageCache, index: u64) -> bool {
    let hit = cache.holds(FILE, index);
    if !hit {
        assert!(cache.add(FILE, index, 0, false, None));
    }
    let folio = cache.folio(FILE, index).unwrap();
    cache.mark_accessed(folio);
    hit
}

fn is_active(cache: &PageCache, index: u64) -> bool {
    let folio = cache.folio(FILE, index).unwrap();
    cache.folios[folio.slot as usize].flags & ACTIVE != 0
}

#[test]
fn the_second_access_activates_and_the_third_does_not() {
    let mut cache = PageCache::new(None);
    read_once(&mut cache, 5);
    assert_eq!(cache.list_pages(), [1, 0]);
    assert!(read_once(&mut cache, 5));
    assert_eq!(cache.list_pages(), [0, 1]);
    read_once(&mut cache, 5);
    assert!(is_active(&cache, 5));
}

/// The pages on each list, counted one by one.
fn walked(cache: &PageCache) -> Vec<u64> {
    let of_list = |list: &List| {
        let next =
            |&slot: &u32| Some(cache.folios[slot as usize].younger).filter(|&slot| slot != lists::NONE);
        let slots = std::iter::successors(Some(list.tail).filter(|&slot| slot != lists::NONE), next);
        slots.map(|slot| 1 << cache.folios[slot as usize].order).sum()
    };
    match &cache.generations {
        Some(generations) => generations.lists.iter().map(of_list).collect(),
        None => [&cache.inactive, &cache.active].map(of_list).to_vec(),
    }
}

#[test]
fn lists_stay_consistent_whatever_is_done() {
    stay_consistent(PageCache::new(Some(500)));
    stay_consistent(PageCache::of_generations(Some(500)));
}

fn stay_consistent(mut cache: PageCache) {
    let mut state = 1_u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for _ in 0..20_000 {
        let order = draw(4) as u32;
        let first = draw(1_000) >> order << order;
        cache.add(FILE, first, order, false, None);
        if let Some(folio) = cache.folio(FILE, draw(1_000)) {
            cache.mark_accessed(folio);
        }
        assert!(cache.pages() <= 500);
    }
    match &cache.generations {
        Some(generations) => assert_eq!(walked(&cache), generations.lists.each_ref().map(|list| list.pages)),
        None => assert_eq!(walked(&cache), cache.list_pages()),
    }
    assert_eq!(walked(&cache).iter().sum::<u64>(), cache.pages());
    let held = (0..1_100).filter(|&index| cache.holds(FILE, index)).count() as u64;
    assert_eq!(held, cache.pages());
    cache.evict_file(FILE);
    assert_eq!(cache.pages(), 0);
}

#[test]
fn gaps_are_found_exactly_among_single_pages_and_one_off_from_within_a_folio() {
    let mut cache = PageCache::new(None);
    (0..100).filter(|&at| at != 70).for_each(|at| assert!(cache.add(FILE, at, 0, false, None)));
    assert_eq!(cache.next_miss(FILE, 3, 100), Some(70));
    assert_eq!(cache.next_miss(FILE, 3, 67), None);
    assert_eq!(cache.run_before(FILE, 90, 32), (19, false));
    assert_eq!(cache.run_before(FILE, 70, 100), (70, true));
    assert_eq!(cache.run_before(FILE, 70, 32), (31, false));

    let mut cache = PageCache::new(None);
    (0..3).for_each(|folio| assert!(cache.add(FILE, 4 * folio, 2, false, None)));
    assert_eq!(cache.next_miss(FILE, 4, 32), Some(12), "from the first page of a folio");
    assert_eq!(cache.next_miss(FILE, 5, 32), Some(13), "from its second");
    assert_eq!(cache.run_before(FILE, 12, 32), (9, false), "from the last page of a folio");
}

#[test]
fn a_loop_over_more_than_fits_never_hits_and_a_recent_refault_is_activated() {
    let mut cache = PageCache::new(Some(1_000));
    let misses = |cache: &mut PageCache| (0..1_100).filter(|&at| !read_once(cache, at)).count();
    assert!((0..8).all(|_| misses(&mut cache) == 1_100), "with nothing active a refault is never recent");

    let mut cache = PageCache::new(Some(1_000));
    for _ in 0..2 {
        (5_000..5_400).for_each(|at| _ = read_once(&mut cache, at));
    }
    (0..700).for_each(|at| _ = read_once(&mut cache, at));
    assert_eq!(cache.list_pages()[1], 400);
    // Page 0 was evicted about a hundred pages ago, fewer than there are active ones.
    assert!(!read_once(&mut cache, 0) && is_active(&cache, 0));
}

#[test]
fn dirty_folios_and_those_on_their_way_are_not_evicted() {
    stay_while_they_have_to(PageCache::new(Some(64)));
    stay_while_they_have_to(PageCache::of_generations(Some(64)));
}

fn stay_while_they_have_to(mut cache: PageCache) {
    let fetch = FetchId(std::num::NonZeroU32::MIN);
    cache.add(FILE, 0, 0, false, Some(fetch));
    cache.add(FILE, 1, 0, false, None);
    cache.set_dirty(cache.folio(FILE, 1).unwrap(), true);
    for index in 10..200 {
        cache.add(FILE, index, 0, false, None);
    }
    assert!(cache.holds(FILE, 0) && cache.holds(FILE, 1) && cache.dirty_pages() == 1);
    cache.arrive(FILE, 0, 1);
    cache.set_dirty(cache.folio(FILE, 1).unwrap(), false);
    cache.set_writeback(FILE, 1, 1, true);
    cache.set_writeback(FILE, 1, 1, false);
    for index in 200..400 {
        cache.add(FILE, index, 0, false, None);
    }
    assert!(!cache.holds(FILE, 0) && !cache.holds(FILE, 1));
}

fn holds_all(cache: &PageCache, mut pages: Range<u64>) -> bool {
    pages.all(|at| cache.holds(FILE, at))
}

#[test]
fn a_generation_protects_what_was_read_again_once_that_comes_back_too_often() {
    let mut cache = PageCache::of_generations(Some(1_000));
    let read = |cache: &mut PageCache, pages: Range<u64>| pages.for_each(|at| _ = read_once(cache, at));
    let read_twice = |cache: &mut PageCache| (0..2).for_each(|_| read(cache, 0..200));
    read_twice(&mut cache);
    read(&mut cache, 1_000..2_100);
    assert!(!(0..200).any(|at| cache.holds(FILE, at)), "nothing has come back so far");
    read_twice(&mut cache);
    read(&mut cache, 3_000..4_100);
    assert!(holds_all(&cache, 0..200), "all 200 pages of this tier came back");
    assert!(!(3_000..3_200).any(|at| cache.holds(FILE, at)), "none of those that were read once did");
}

#[test]
fn a_scan_does_not_evict_pages_that_were_read_eight_times_from_generations() {
    let mut cache = PageCache::of_generations(Some(1_000));
    (0..8).for_each(|_| (0..300).for_each(|at| _ = read_once(&mut cache, at)));
    (1_000..6_000).for_each(|at| _ = read_once(&mut cache, at));
    assert!(holds_all(&cache, 0..300));
}

#[test]
fn what_waited_for_writeback_is_the_next_to_leave_its_generation() {
    let mut cache = PageCache::of_generations(Some(1_000));
    cache.add(FILE, 0, 0, false, None);
    cache.set_dirty(cache.folio(FILE, 0).unwrap(), true);
    (1_000..2_100).for_each(|at| _ = read_once(&mut cache, at));
    assert!(cache.holds(FILE, 0));
    cache.set_dirty(cache.folio(FILE, 0).unwrap(), false);
    cache.set_writeback(FILE, 0, 1, true);
    cache.set_writeback(FILE, 0, 1, false);
    (2_100..2_200).for_each(|at| _ = read_once(&mut cache, at));
    assert!(!cache.holds(FILE, 0) && cache.holds(FILE, 1_500));
}
