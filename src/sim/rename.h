/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rename.h - gives the executor's own code other names, so that the
 * simulator can compile the files of its ledger and of its effects, word for word,
 * on top of a simulated journal, spool, screen, socket, loop and clock.
 *
 * Why names and not a vtable: the executor is the one process whose every system
 * call counts, and it would call through pointers that only the simulator needs.
 * A call of the real world that has no name here fails a test of the house
 * ("symbols of the simulated executor").
 *
 * Included first, by ledger.c, effects.c and executor.c only.
 */
#ifndef TH_SIM_RENAME_H
#define TH_SIM_RENAME_H

/* ledger.h, compiled again in ledger.c */
#define th_ledger_open th_sim_ledger_open
#define th_ledger_close th_sim_ledger_close
#define th_ledger_id th_sim_ledger_id
#define th_ledger_epoch th_sim_ledger_epoch
#define th_ledger_epoch_raise th_sim_ledger_epoch_raise
#define th_ledger_find th_sim_ledger_find
#define th_ledger_count th_sim_ledger_count
#define th_ledger_accept th_sim_ledger_accept
#define th_ledger_never th_sim_ledger_never
#define th_ledger_step th_sim_ledger_step
#define th_ledger_note th_sim_ledger_note
#define th_ledger_finish th_sim_ledger_finish
#define th_ledger_forget th_sim_ledger_forget
#define th_ledger_sync th_sim_ledger_sync
#define th_ledger_tidy th_sim_ledger_tidy
#define th_ledger_record_table th_sim_ledger_record_table
#define th_ledger_text_set th_sim_ledger_text_set
#define th_ledger_entry_new th_sim_ledger_entry_new
#define th_ledger_entry_free th_sim_ledger_entry_free
#define th_ledger_entry_of th_sim_ledger_entry_of
#define th_ledger_put th_sim_ledger_put
#define th_ledger_drop th_sim_ledger_drop
#define th_ledger_entry_finish th_sim_ledger_entry_finish
#define th_ledger_entry_forget th_sim_ledger_entry_forget
#define th_ledger_on_record th_sim_ledger_on_record

/* the executor's effects, compiled again in effects.c */
#define th_exec_tell_finished th_sim_exec_tell_finished
#define th_exec_tell_plain th_sim_exec_tell_plain
#define th_exec_tell_accepted th_sim_exec_tell_accepted
#define th_exec_tell_output th_sim_exec_tell_output
#define th_exec_pictures_add th_sim_exec_pictures_add
#define th_exec_pictures_find th_sim_exec_pictures_find
#define th_exec_pictures_drop th_sim_exec_pictures_drop
#define th_exec_effect_new th_sim_exec_effect_new
#define th_exec_effect_free th_sim_exec_effect_free
#define th_exec_effect_find th_sim_exec_effect_find
#define th_exec_effect_sub th_sim_exec_effect_sub
#define th_exec_sub_remove th_sim_exec_sub_remove
#define th_exec_pump th_sim_exec_pump
#define th_exec_effect_settle th_sim_exec_effect_settle
#define th_exec_on_computer th_sim_exec_on_computer
#define th_exec_effect_cancel th_sim_exec_effect_cancel
#define th_exec_effect_finish th_sim_exec_effect_finish
#define th_exec_effect_unknown th_sim_exec_effect_unknown
#define th_exec_effect_start th_sim_exec_effect_start
#define th_exec_on_run th_sim_exec_on_run
#define th_exec_on_cancel th_sim_exec_on_cancel
#define th_exec_on_input th_sim_exec_on_input
#define th_exec_on_forget th_sim_exec_on_forget
#define th_exec_client_gone th_sim_exec_client_gone
#define th_exec_client_drained th_sim_exec_client_drained
#define th_exec_flush th_sim_exec_flush
#define th_exec_cancel_all th_sim_exec_cancel_all
#define th_exec_effects_free th_sim_exec_effects_free

/* what both stand on: journal.h in disk_journal.c, the rest in executor*.c */
#define th_journal_open th_sim_journal_open
#define th_journal_close th_sim_journal_close
#define th_journal_append th_sim_journal_append
#define th_journal_sync th_sim_journal_sync
#define th_journal_size th_sim_journal_size
#define th_journal_rewrite th_sim_journal_rewrite
#define th_exec_fatal th_sim_exec_fatal
#define th_exec_idle th_sim_exec_idle
#define th_exec_send th_sim_exec_send
#define th_exec_send_error th_sim_exec_send_error
#define th_spool_close th_sim_spool_close
#define th_spool_append th_sim_spool_append
#define th_spool_open th_sim_spool_open
#define th_spool_read th_sim_spool_read
#define th_display_run th_sim_display_run
#define th_display_cancel th_sim_display_cancel
#define th_exec_ask_said th_sim_exec_ask_said
#define th_exec_ask_over th_sim_exec_ask_over
#define th_exec_ask_cancelled th_sim_exec_ask_cancelled
#define th_exec_ask_client_gone th_sim_exec_ask_client_gone
#define th_egress_link_sync th_sim_egress_link_sync
#define th_egress_link_take th_sim_egress_link_take
#define th_picture_new th_sim_picture_new
#define th_picture_ref th_sim_picture_ref
#define th_picture_unref th_sim_picture_unref
#define th_tool_find th_sim_tool_find
#define th_loop_defer th_sim_loop_defer
#define th_clock_ms th_sim_clock_ms
#define th_clock_wall_ms th_sim_clock_wall_ms
#define th_uuid_now th_sim_uuid_now
#define unlinkat th_sim_unlinkat

#endif
